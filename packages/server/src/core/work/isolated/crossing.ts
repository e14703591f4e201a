/**
 * What of an error crosses a thread: its builtin class, the names of its own classes, its name, message, stack and
 * cause, and its properties. A structured clone would keep neither the names nor the properties.
 *
 * Methods stay behind, and so does the class itself: `instanceof` an author's class is false on the other side, unless
 * the class knows its errors by a registered symbol (`Symbol.for`), as those of the MCP SDK v2 do. What cannot be cloned
 * becomes its text. Neither way throws, whatever was thrown.
 */
import { types } from 'node:util';
import { StopReason } from '../../reason.ts';

/** Made to be cloned; cycles and shared errors are kept, because a clone keeps them. */
export type Crossed =
  | CrossedError
  | { readonly type: 'value'; readonly value: unknown }
  | { readonly type: 'list'; readonly items: readonly Crossed[] };

interface CrossedError {
  readonly type: 'error';
  /** The nearest class that both sides have. */
  readonly base: Base;
  /** The names of its own classes, nearest first. */
  readonly classes: readonly string[];
  readonly name: string;
  readonly message: string;
  readonly stack: string;
  readonly properties: CrossedProperty[];
}

interface CrossedProperty {
  readonly key: string;
  /** `key` is that of a registered symbol. */
  readonly symbol?: true;
  readonly enumerable: boolean;
  readonly value: Crossed;
}

type ErrorClass = new (...given: never[]) => Error;

/** What exists on both sides. */
const BASES = {
  Error,
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  EvalError,
  URIError,
  AggregateError,
  DOMException,
  StopReason,
} satisfies Record<string, ErrorClass>;
type Base = keyof typeof BASES;

const BASE_OF = new Map<unknown, Base>(
  Object.entries(BASES).map(([name, base]) => [(base as ErrorClass).prototype, name as Base]),
);

/** How many errors deep a chain of causes crosses, and how many classes deep its classes: a proxy can have no end. */
const DEEPEST = 32;

/** @param thrown anything: what is no error crosses as it is */
export function takeApart(thrown: unknown): Crossed {
  return take(thrown, new Map(), 0) ?? asText(thrown);
}

/** What was thrown on the other side, as near as this side can come. */
export function putTogether(crossed: Crossed): unknown {
  return put(crossed, new Map());
}

type Seen = Map<unknown, CrossedError>;

/** @returns `undefined` for what cannot cross as what it is */
function take(value: unknown, seen: Seen, depth: number): Crossed | undefined {
  if (!attempt(() => Array.isArray(value) && value.some(lineageOf))) return takeOne(value, seen, depth);
  const items = attempt(() => Array.from(value as unknown[], (item) => takeOne(item, seen, depth) ?? asText(item)));
  return items && { type: 'list', items };
}

function takeOne(value: unknown, seen: Seen, depth: number): Crossed | undefined {
  const lineage = lineageOf(value);
  if (lineage === undefined) return attempt(() => ({ type: 'value', value: structuredClone(value) }));
  return seen.get(value) ?? (depth < DEEPEST ? takeError(value as Error, lineage, seen, depth) : undefined);
}

function takeError(error: Error, lineage: Lineage, seen: Seen, depth: number): CrossedError {
  const [name, message] = [textOf(error, 'name') ?? lineage.base, textOf(error, 'message') ?? ''];
  const stack = attempt(() => error.stack);
  const crossed: CrossedError = {
    type: 'error',
    base: lineage.base,
    classes: lineage.own.map(classNameOf).filter((name) => name !== ''),
    name,
    message,
    stack: typeof stack === 'string' ? stack : `${name}: ${message}`,
    properties: [],
  };
  seen.set(error, crossed);
  for (const { key, must, enumerable } of keysOf(error, lineage)) {
    const read = attempt(() => ({ value: Reflect.get(error, key) }));
    if (read === undefined) continue;
    const value = take(read.value, seen, depth + 1) ?? (must ? asText(read.value) : undefined);
    if (value === undefined) continue;
    if (typeof key === 'string') crossed.properties.push({ key, enumerable, value });
    else crossed.properties.push({ key: Symbol.keyFor(key) ?? '', symbol: true, enumerable, value });
  }
  return crossed;
}

interface Lineage {
  readonly base: Base;
  /** The prototypes between the error and that of its base. */
  readonly own: readonly object[];
}

/** Walks by itself, because `instanceof` runs a proxy's traps without a bound; `undefined` for what is no error. */
function lineageOf(value: unknown): Lineage | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const own: object[] = [];
  for (let at = prototypeOf(value); at !== null && own.length < DEEPEST; at = prototypeOf(at)) {
    const base = BASE_OF.get(at);
    if (base !== undefined) return { base, own };
    own.push(at);
  }
  // From another realm (`node:vm`), or robbed of its prototype.
  return types.isNativeError(value) ? { base: 'Error', own: [] } : undefined;
}

function prototypeOf(value: object): object | null {
  return attempt(() => Object.getPrototypeOf(value) as object | null) ?? null;
}

function classNameOf(prototype: object): string {
  const name = attempt((): unknown => Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value.name);
  return typeof name === 'string' ? name : '';
}

interface Key {
  readonly key: string | symbol;
  /** Crosses as its text where it cannot be cloned. */
  readonly must: boolean;
  readonly enumerable: boolean;
}

/**
 * Its own enumerable properties, its cause and its errors; those under registered symbols, which mean the same in every
 * thread; and what its classes compute, because whoever knows an error by its brand reads its getters next.
 */
function keysOf(error: Error, { own }: Lineage): Key[] {
  const keys = new Map<string | symbol, Key>();
  const add = (key: string | symbol, must: boolean, enumerable: boolean): void => {
    // A text in the place of `toString`, say, would make an error that cannot be shown.
    if (keys.has(key) || key in Object.prototype || key === 'name' || key === 'message' || key === 'stack') return;
    keys.set(key, { key, must, enumerable });
  };
  for (const key of attempt(() => Object.keys(error)) ?? []) add(key, true, true);
  for (const key of ['cause', 'errors']) if (attempt(() => Object.hasOwn(error, key))) add(key, true, false);
  for (const key of attempt(() => Object.getOwnPropertySymbols(error)) ?? []) {
    if (Symbol.keyFor(key) !== undefined) add(key, false, false);
  }
  for (const prototype of own) {
    const members = attempt(() => Object.entries(Object.getOwnPropertyDescriptors(prototype))) ?? [];
    for (const [key, { get }] of members) if (get !== undefined) add(key, false, false);
  }
  return [...keys.values()];
}

function put(crossed: Crossed, made: Map<Crossed, Error>): unknown {
  if (crossed.type === 'value') return crossed.value;
  if (crossed.type === 'list') return crossed.items.map((item) => put(item, made));
  const known = made.get(crossed);
  if (known !== undefined) return known;
  const error = construct(crossed);
  made.set(crossed, error);
  for (const { key, symbol, enumerable, value } of crossed.properties) {
    define(error, symbol ? Symbol.for(key) : key, put(value, made), enumerable);
  }
  for (const key of ['name', 'message', 'stack'] as const) {
    if (error[key] !== crossed[key]) define(error, key, crossed[key], false);
  }
  return error;
}

function construct({ base, classes, name, message }: CrossedError): Error {
  const given: Partial<Record<Base, unknown[]>> = {
    AggregateError: [[], message],
    DOMException: [message, name],
    // Its kind is one of its properties, and comes with them.
    StopReason: ['cancelled', message],
  };
  const standIn = classes.reduceRight(standInFor, BASES[base] as ErrorClass);
  return Reflect.construct(BASES[base], given[base] ?? [message], standIn) as Error;
}

/** A class of that name, so that `constructor.name` and what is printed still say what was thrown. */
function standInFor(parent: ErrorClass, name: string): ErrorClass {
  return Object.defineProperty(class extends parent {}, 'name', { value: name });
}

function define(error: Error, key: string | symbol, value: unknown, enumerable: boolean): void {
  Object.defineProperty(error, key, { value, enumerable, writable: true, configurable: true });
}

/** @returns `undefined` for what is not there or cannot be read */
function textOf(error: Error, key: 'name' | 'message'): string | undefined {
  const value: unknown = attempt(() => error[key]);
  return value === undefined ? undefined : show(value);
}

function asText(value: unknown): Crossed {
  return { type: 'value', value: show(value) };
}

function show(value: unknown): string {
  return attempt(() => String(value)) ?? 'a value that cannot be shown';
}

function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
