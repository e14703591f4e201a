export function spin() {
  process.stderr.write('spinning\n');
  // Lets the line cross before the thread is busy for good.
  return new Promise((resolve) => setImmediate(resolve)).then(() => {
    for (;;);
  });
}
