#!/usr/bin/env node
// Beside the build and not in it, so that it is there, and executable, when npm links it.
import '../dist/cli/main.js';
