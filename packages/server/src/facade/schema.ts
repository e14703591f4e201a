/**
 * Schemas of a tool's input and output: any Standard Schema that can be shown as JSON Schema, such as `z.object({ ... })`.
 *
 * The standard's shape is written down rather than imported, as the SDK's are. A schema that a client could not be
 * shown is refused where it is given; the SDK would find out when the first client asks for the list of all tools.
 */

/** A Standard Schema, as zod 4, ArkType and Valibot have it. */
export interface ToolSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly jsonSchema?: Readonly<Record<Direction, (options: { readonly target: typeof TARGET }) => object>>;
  };
}

/** What a handler is given for its arguments. */
export type ArgsOf<Input> = Input extends { readonly '~standard': { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : Record<string, unknown>;

type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

type Direction = 'input' | 'output';

/** The draft that the SDK asks for. */
const TARGET = 'draft-2020-12';

/**
 * What the SDK is given where a tool has no input schema: lets everything through and says so. Without any schema the
 * SDK would keep the arguments from the handler.
 */
export const ANYTHING: ToolSchema = {
  '~standard': {
    version: 1,
    vendor: 'estop',
    validate: (value) => ({ value }),
    jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
  },
};

/** @throws TypeError for what is no schema, or none that a client can be shown */
export function checkSchema(schema: unknown, what: string, direction: Direction): ToolSchema | undefined {
  if (schema === undefined) return undefined;
  const standard = (schema as ToolSchema | null)?.['~standard'];
  if (typeof standard?.validate !== 'function') {
    throw new TypeError(`estop: ${what}: ${direction} must be a Standard Schema, such as z.object({ url: z.url() })`);
  }
  checkJson(standard, what, direction);
  return schema as ToolSchema;
}

/** @throws TypeError that names the tool and what does not fit */
export async function validated(schema: ToolSchema | undefined, args: unknown, what: string): Promise<unknown> {
  if (schema === undefined) return args;
  const result = await schema['~standard'].validate(args);
  if (result.issues === undefined) return result.value;
  throw new TypeError(`estop: ${what}: invalid arguments: ${result.issues.map(describe).join(', ')}`);
}

function checkJson(standard: ToolSchema['~standard'], what: string, direction: Direction): void {
  if (standard.jsonSchema === undefined) {
    // zod 4.0 and 4.1, which the SDK converts itself.
    if (standard.vendor === 'zod') return;
    throw new TypeError(`estop: ${what}: the ${direction} schema cannot be shown to clients: it has no JSON Schema`);
  }
  const json = convert(standard.jsonSchema[direction], what, direction);
  if (direction === 'input' && json.type !== undefined && json.type !== 'object') {
    throw new TypeError(`estop: ${what}: the input schema must describe an object, got ${JSON.stringify(json.type)}`);
  }
}

function convert(toJson: (options: { target: typeof TARGET }) => object, what: string, direction: Direction) {
  try {
    return toJson({ target: TARGET }) as { readonly type?: unknown };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TypeError(`estop: ${what}: the ${direction} schema has no JSON Schema: ${why}`, { cause });
  }
}

function describe({ message, path = [] }: Issue): string {
  const keys = path.map((part) => String(typeof part === 'object' ? part.key : part));
  return keys.length === 0 ? message : `${keys.join('.')}: ${message}`;
}
