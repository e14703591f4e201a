/**
 * The signal of a call: an ordinary `AbortSignal`, except that a listener which throws harms nobody else.
 *
 * Node turns an exception in an `abort` listener, and a rejection of an async one, into an uncaught exception: one
 * careless tool would take the server down when a client presses Stop. Here it becomes a process warning.
 * Listeners that are registered past the signal's own `addEventListener` are as Node makes them.
 */
import { setMaxListeners } from 'node:events';

/** Many things may listen to one call; Node's warning at the eleventh listener would be a false alarm. */
const NO_LISTENER_LIMIT = 0;

export function createController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(NO_LISTENER_LIMIT, controller.signal);
  Object.setPrototypeOf(controller.signal, guarded);
  return controller;
}

type Listener = EventListenerOrEventListenerObject | null;
type EventListenerOrEventListenerObject =
  | ((this: unknown, event: Event) => unknown)
  | { handleEvent(event: Event): unknown };

/** Same listener, same guard: so that `removeEventListener` finds what `addEventListener` registered. */
const guards = new WeakMap<object, (this: unknown, event: Event) => void>();

function guard(listener: Listener): Listener {
  if (listener === null || (typeof listener !== 'function' && typeof listener !== 'object')) return listener;
  let guarding = guards.get(listener);
  if (guarding === undefined) {
    guarding = function (this: unknown, event: Event): void {
      try {
        const result = typeof listener === 'function' ? listener.call(this, event) : listener.handleEvent(event);
        if (result instanceof Promise) result.catch(report);
      } catch (error) {
        report(error);
      }
    };
    guards.set(listener, guarding);
    // Node itself removes a listener by what was registered: by its guard.
    guards.set(guarding, guarding);
  }
  return guarding;
}

/** What a listener threw, as a process warning: it harms nobody else, and is not lost. */
export function report(error: unknown): void {
  process.emitWarning(`A listener on the signal of a call threw: ${describe(error)}`, {
    type: 'EstopWarning',
    code: 'ESTOP_LISTENER_THREW',
  });
}

function describe(error: unknown): string {
  try {
    return String(error instanceof Error ? (error.stack ?? error.message) : error);
  } catch {
    return 'something that cannot be put into words';
  }
}

const { addEventListener, removeEventListener } = EventTarget.prototype as {
  addEventListener(this: EventTarget, type: string, listener: Listener, options?: unknown): void;
  removeEventListener(this: EventTarget, type: string, listener: Listener, options?: unknown): void;
};

/** `onabort` needs nothing of its own: Node sets it through `addEventListener`. */
const guarded: object = Object.create(AbortSignal.prototype, {
  addEventListener: {
    value(this: AbortSignal, type: string, listener: Listener, options?: unknown): void {
      addEventListener.call(this, type, guard(listener), options);
    },
  },
  removeEventListener: {
    value(this: AbortSignal, type: string, listener: Listener, options?: unknown): void {
      removeEventListener.call(this, type, guard(listener), options);
    },
  },
});
