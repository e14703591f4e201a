/** What is published on the channels while a test runs. */
import { channels } from '@estop/server/core';
import { onTestFinished } from 'vitest';

export interface Published {
  readonly channel: keyof typeof channels;
  readonly event: unknown;
}

/** Subscribes to some channels, or all, until the test is over. */
export function published(...names: (keyof typeof channels)[]): Published[] {
  const all: Published[] = [];
  for (const name of names.length > 0 ? names : (Object.keys(channels) as (keyof typeof channels)[])) {
    const hear = (event: unknown): void => void all.push({ channel: name, event });
    channels[name].subscribe(hear);
    onTestFinished(() => void channels[name].unsubscribe(hear));
  }
  return all;
}
