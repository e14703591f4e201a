/** Broken: ends before it listens. */
process.exit(9);
