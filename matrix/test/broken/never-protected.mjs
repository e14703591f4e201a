/** Loaded in front of every subject: one that is to be protected is bare, and nobody is told. */
process.argv = process.argv.map((argument) => (argument === 'protected' ? 'bare' : argument));
