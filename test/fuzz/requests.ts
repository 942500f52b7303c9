import { readFileSync } from 'node:fs';
import { Random } from './random.ts';

type Json = Record<string, unknown>;

interface OperationObject {
  operationId: string;
  parameters?: { name: string; in: 'path' | 'query' | 'header'; required?: boolean; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

export interface Schema {
  $ref?: string;
  type?: string;
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  format?: string;
  items?: Schema;
  maxItems?: number;
}

interface Document {
  paths: Record<string, Record<string, OperationObject>>;
  components: { schemas: Record<string, Schema> };
}

export const document = JSON.parse(
  readFileSync(new URL('../../contract/openapi.json', import.meta.url), 'utf8'),
) as Document;

export const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

type DocumentedOperation = (typeof operations)[number];

export function resolve(schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return name ? (document.components.schemas[name] ?? schema) : schema;
}

export interface FuzzRequest {
  operationId: string;
  method: string;
  path: string;
  token: string | undefined;
  headers: Record<string, string>;
  body: string | Uint8Array | undefined;
  /** Whether the request conforms to the OpenAPI document. */
  isValid: boolean;
}

/** The tokens and ids that the generated requests use. */
export interface FuzzWorld {
  /** Tokens, each with the slugs of its boards. The first two tokens have the highest grants. */
  tokens: { token: string; slugs: string[] }[];
  badTokens: (string | undefined)[];
  statusKeys: string[];
  maxIdeaId: number;
  maxTagId: number;
  cursors: string[];
  /** Comments of the first board, each with its idea. */
  comments: { id: number; commentId: number }[];
  /** Notes of the first board, each with its idea. */
  notes: { id: number; noteId: number }[];
  /** Webhooks of the first board, each with one of its deliveries. */
  webhooks: { webhookId: number; deliveryId: number }[];
}

/**
 * Returns the request with the given number. Equal arguments always give an equal request. The operations take turns, so
 * that each operation gets equally many requests. In every tenth turn of an operation, the request has a bad token, and
 * in the turn after it, an unknown parameter. So each operation refuses such requests, whatever the seed is.
 */
export function fuzzRequest(seed: number, number: number, world: FuzzWorld): FuzzRequest {
  const random = new Random(seed + Math.imul(number, 0x9e3779b1));
  const operation = operations[number % operations.length] as DocumentedOperation;
  const turn = Math.floor(number / operations.length);
  return new RequestMaker(random, world).make(operation, (['token', 'parameter'] as const)[turn % 10]);
}

const letters = [...'abcdefghijklmnopqrstuvwxyz  ABC 0123456789 .,:;!?\'"\\/<>&%$#@*()[]{}|^~`_-+='];
const rarities = [
  '🦄',
  'e\u0301',
  'ß',
  'İ',
  '\u202e',
  '\ufeff',
  '\u0001',
  '\n',
  '\t',
  '漢',
  '\u00a0',
  '👩‍👩‍👧',
  '\ufffd',
];

class RequestMaker {
  private readonly random: Random;
  private readonly world: FuzzWorld;

  constructor(random: Random, world: FuzzWorld) {
    this.random = random;
    this.world = world;
  }

  make({ path, method, operation }: DocumentedOperation, fault?: 'token' | 'parameter'): FuzzRequest {
    const { random } = this;
    const { token, slugs } = random.chance(0.6)
      ? random.pick(this.world.tokens.slice(0, 2))
      : random.pick(this.world.tokens);
    const parameters = operation.parameters ?? [];
    const query: [string, string][] = [];
    const headers: Record<string, string> = {};
    for (const parameter of parameters) {
      if (parameter.in === 'query') {
        const isNeeded = parameter.name === 'board' && slugs.length > 1;
        if (isNeeded || random.chance(0.15))
          query.push([parameter.name, this.queryValue(parameter.name, parameter.schema, slugs)]);
      }
      if (parameter.in === 'header' && random.chance(0.2)) headers[parameter.name] = this.headerValue(parameter.name);
    }
    const names = query.map(([name]) => name);
    // A request with the parameter `cursor` is invalid if the cursor is from another list, or if the request also has
    // the parameter `page`. A request with `ids` is invalid if it also has filters.
    const isDoubtful =
      names.includes('cursor') ||
      (names.includes('ids') && names.length > 1) ||
      // A search for similar ideas needs either a title or the id of an idea.
      operation.operationId === 'findSimilarIdeas';

    const schema = operation.requestBody?.content['application/json']?.schema;
    const body = schema && (this.value(schema, 'body') as Json);
    if (body) headers['content-type'] = 'application/json';
    const request: FuzzRequest = {
      operationId: operation.operationId,
      method: method === 'GET' && random.chance(0.05) ? 'HEAD' : method,
      path: `${this.fill(path)}${queryText(query)}`,
      token,
      headers,
      body: body && JSON.stringify(body),
      isValid: !isDoubtful,
    };
    if (fault === 'token') return { ...request, token: random.pick(this.world.badTokens), isValid: false };
    if (fault === 'parameter') return { ...request, path: withParameter(request.path, 'unknown=1'), isValid: false };
    return random.chance(0.7) ? request : this.spoil(request, body);
  }

  /**
   * Returns a value that matches the schema. A field for an id or a status key gets a value that exists in the
   * database.
   */
  private value(given: Schema, name: string): unknown {
    const schema = resolve(given);
    const { random } = this;
    if (schema.const !== undefined) return schema.const;
    if (schema.enum) return random.pick(schema.enum);
    if (schema.type === 'object') {
      // A random time in if_updated_at would nearly always be outdated. So only a tenth of the requests have this
      // field.
      const entries = Object.entries(schema.properties ?? {}).filter(
        ([key]) => key !== 'if_updated_at' || random.chance(0.1),
      );
      return Object.fromEntries(entries.map(([key, property]) => [key, this.value(property, key)]));
    }
    if (schema.type === 'integer') {
      if (name.endsWith('_id') || ['ids', 'tag', 'author'].includes(name)) return this.id(name);
      return random.integer(schema.minimum ?? 0, Math.min(schema.maximum ?? 50, 50));
    }
    if (schema.type === 'array' && schema.items) {
      const { items, maxItems = 1 } = schema;
      return Array.from({ length: random.integer(1, Math.min(maxItems, 5)) }, () => this.value(items, name));
    }
    if (schema.format === 'date-time') return this.time();
    if (schema.type === 'boolean') return random.chance(0.5);
    if (name === 'url') return `https://hooks.example.com/${random.integer(1, 1_000)}`;
    if (name === 'status' || name === 'status_key') return random.pick(this.world.statusKeys);
    return this.text(schema.minLength ?? 0, schema.maxLength ?? 100);
  }

  private text(min: number, max: number): string {
    const { random } = this;
    const length = random.chance(0.1) ? random.pick([min, max]) : random.integer(min, Math.min(max, min + 60));
    let text = '';
    for (let n = 0; n < length; n++) {
      const letter = random.chance(0.05) ? [...random.pick(rarities)][0] : random.pick(letters);
      text += letter ?? 'x';
    }
    // A required text must contain a visible character.
    return min > 0 && !/[^\s\p{Default_Ignorable_Code_Point}]/u.test(text) ? `x${text.slice(1)}` : text;
  }

  private time(): string {
    const { random } = this;
    const time = new Date(random.integer(86_400, 4_000_000_000) * 1000).toISOString();
    return random.chance(0.3) ? time.replace('.000Z', random.pick(['Z', '+02:00', '.123456-11:30'])) : time;
  }

  /**
   * Replaces the parameters of a path with ids. A comment or note belongs to the idea in the path, and a delivery belongs
   * to the webhook in the path.
   */
  private fill(path: string): string {
    const { comments, notes, webhooks } = this.world;
    const lists = { commentId: comments, noteId: notes, webhookId: webhooks };
    const [, known] = Object.entries<object[]>(lists).find(([name]) => path.includes(`{${name}}`)) ?? [];
    const ids: Partial<Record<string, number>> = this.random.pick<object>(known ?? [{}]);
    return path.replace(/\{(\w+)\}/g, (_, name: string) => String(ids[name] ?? this.id(name)));
  }

  /** Returns the id of a tag or of an idea. Half of the ideas are published ideas of the first board. */
  private id(name: string): number {
    const { maxIdeaId, maxTagId, comments } = this.world;
    if (name.toLowerCase().startsWith('tag')) return this.random.integer(1, maxTagId);
    return this.random.chance(0.5) ? this.random.pick(comments).id : this.random.integer(1, maxIdeaId);
  }

  private queryValue(name: string, schema: Schema, slugs: string[]): string {
    if (name === 'board') return this.random.pick(slugs);
    if (name === 'after') return 'now';
    if (name === 'types') return 'idea.created,idea.voted';
    // The parameter `wait` makes the server wait for a new event. A longer wait would only make the test slow.
    if (name === 'wait') return '0';
    if (name === 'cursor') return this.random.pick(this.world.cursors);
    return String(this.value(schema, name));
  }

  private headerValue(name: string): string {
    if (name === 'idempotency-key') return `key-${this.random.integer(1, 40)}`;
    return this.random.pick(['*', 'W/"x"', '"x"', 'W/"x", "y"', '', ',,,']);
  }

  /** Returns a copy of the request with one or two faults that a careless or hostile client could make. */
  private spoil(request: FuzzRequest, body: Json | undefined): FuzzRequest {
    const spoiled = { ...request, headers: { ...request.headers }, isValid: false };
    const ways = body ? [...this.anywhere, ...this.inBody] : this.anywhere;
    for (let times = this.random.integer(1, 2); times > 0; times--) this.random.pick(ways)(spoiled, body ?? {});
    return spoiled;
  }

  private readonly anywhere: ((request: FuzzRequest, body: Json) => void)[] = [
    request => {
      request.token = this.random.pick([...this.world.badTokens, undefined]);
    },
    request => {
      const junk = [
        '0',
        '-1',
        '1e3',
        '+1',
        '9'.repeat(30),
        '9007199254740993',
        'x',
        '%00',
        '%',
        '%C3%28',
        '1.0',
        '',
        '..',
        "'",
      ];
      request.path = request.path.replace(/\/\d+(?=\/|\?|$)/, () => `/${this.random.pick(junk)}`);
    },
    request => {
      const junk = [
        'unknown=1',
        'board=a&board=b',
        'board=%00',
        '__proto__=1',
        'page=0',
        'page=1&page=2',
        'per_page=101',
        'after=AQAA',
        'wait=56',
        'types=,',
        'cursor=!!!',
        'cursor=WyJuZXdlc3QiLDEsMV0',
        'q=%00',
        'q=a&q=b',
        'sort=oldest',
        'tag=export',
        'author=0',
        'author=99999999999999999999',
        'ids=',
        'ids=1,x',
        `ids=${'1,'.repeat(100)}1`,
        'created_after=yesterday',
        'updated_since=0000-01-01T00:00:00%2B14:00',
        'expand=votes,tags',
        'expand=',
        'status=inbox',
        'moderation_state=published',
        'page=99999999999999999999',
        '%',
        '=',
        '&&',
        'board[]=x',
        `q=${'x'.repeat(101)}`,
        '%ED%A0%80=1',
        'q=%ED%A0%80',
      ];
      request.path = withParameter(request.path, this.random.pick(junk));
    },
    request => {
      request.method = this.random.pick(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
    },
    request => {
      request.path = this.random.pick(['/', '//', '/api/v1', '/api/v1/ideas/', '/api/v1/nothing', '/api/v1/ideas/1/1']);
    },
    request => {
      request.headers['content-type'] = this.random.pick([
        'text/plain',
        'application/json; charset=utf-8',
        'application/json;charset=latin1',
        '',
        'x',
        'multipart/form-data',
      ]);
      request.body ??= '{}';
    },
    request => {
      request.body = this.random.pick([
        '',
        '{}',
        'null',
        '[]',
        '{"a":1}',
        '{"a"',
        '\0',
        '"',
        '{"__proto__":1}',
        '[[[[[[',
      ]);
      request.headers['content-type'] = 'application/json';
    },
    request => {
      request.headers['idempotency-key'] = this.random.pick(['', 'a b', 'x'.repeat(256), 'é', '\t']);
    },
    request => {
      request.headers['x-request-id'] = this.random.pick(['a b', '', 'x'.repeat(200), '{}', 'fine-1']);
    },
    request => {
      request.headers.authorization = this.random.pick([
        'Bearer',
        'Basic eDp5',
        'Bearer  ib_1_x',
        'bearer x',
        'Bearer a b',
      ]);
      request.token = undefined;
    },
  ];

  private readonly inBody: ((request: FuzzRequest, body: Json) => void)[] = [
    (request, body) => {
      const field = this.random.pick(Object.keys(body));
      const junk = [
        null,
        true,
        false,
        0,
        -1,
        1.5,
        1e300,
        [],
        {},
        [1],
        { a: 1 },
        '',
        ' ',
        'x'.repeat(10_001),
        'x\0',
        '\ud83d',
        '\ude00x',
        2 ** 53,
        '1',
        'none ',
        ['up'],
      ];
      request.body = JSON.stringify({
        ...body,
        [field]: this.random.pick<unknown>(junk.map(value => value ?? 'null')),
      });
      if (this.random.chance(0.1)) request.body = JSON.stringify({ ...body, [field]: null });
    },
    (request, body) => {
      const field = this.random.pick(Object.keys(body));
      const { [field]: _, ...rest } = body;
      request.body = JSON.stringify(rest);
    },
    (request, body) => {
      const names = ['extra', 'id', 'constructor', 'toString', '__proto__', '', 'account_id'];
      request.body = JSON.stringify(body).replace('{', `{${JSON.stringify(this.random.pick(names))}:1,`);
    },
    (request, body) => {
      const text = JSON.stringify(body);
      request.body = text.slice(0, this.random.integer(0, text.length - 1));
    },
    (request, body) => {
      const bytes = Buffer.from(JSON.stringify(body));
      for (let n = this.random.integer(1, 3); n > 0; n--)
        bytes[this.random.integer(0, bytes.length - 1)] = this.random.integer(0, 255);
      request.body = bytes;
    },
    (request, body) => {
      request.body = JSON.stringify({ ...body, padding: 'x'.repeat(this.random.integer(60_000, 70_000)) });
    },
    (request, body) => {
      request.body = `${'['.repeat(2000)}${JSON.stringify(body)}${']'.repeat(2000)}`;
    },
  ];
}

function withParameter(path: string, parameter: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}${parameter}`;
}

function queryText(query: [string, string][]): string {
  if (query.length === 0) return '';
  return `?${query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')}`;
}
