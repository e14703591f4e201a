/** Broken: a call that was aborted is made again, and nobody can cancel that one. */
import { withCall } from './wrap.mjs';

export const connect = withCall(async (inner, tool, args, signal) => {
  try {
    return await inner.call(tool, args, signal);
  } catch (error) {
    if (signal.aborted) inner.call(tool, args, new AbortController().signal).catch(() => {});
    throw error;
  }
});
