/**
 * Texts that came from outside, fit for logs: bounded, and without what hides or reorders other text.
 */

/** Controls, format characters (bidirectional, zero-width, tags), separators of lines, halves of characters. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** @returns at most `longest` characters, none of them unsafe; `undefined` for a non-string, or when nothing is left */
export function cleanText(given: unknown, longest: number): string | undefined {
  if (typeof given !== 'string') return undefined;
  // Cut before the clean-up: its cost is bounded by our limit, not by the sender.
  const text = given.slice(0, longest * 4).replace(UNSAFE, '');
  if (text.length <= longest) return text === '' ? undefined : text;
  return [...text].slice(0, longest).join('');
}
