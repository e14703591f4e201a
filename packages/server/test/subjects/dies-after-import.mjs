/** A module that can be imported, and takes what has imported it down right after that. */
setTimeout(() => process.exit(3), 20);

export async function fine() {
  await new Promise(() => {});
}
