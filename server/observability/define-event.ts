import { z } from 'zod';

/** An event of the audit log: when it is recorded, and with which fields. */
export interface EventDefinition<Fields extends z.ZodObject = z.ZodObject> {
  /** One sentence: docs/audit-log.md is written from it. */
  when: string;
  fields: Fields;
  /**
   * The fields by which two events are of one kind, for an event that strangers can cause as often as they like: of each
   * kind the first in a minute is written, and the others are counted. Undefined: each is written.
   */
  kind?: readonly (keyof z.input<Fields> & string)[];
}

export function defineEvent<Shape extends z.ZodRawShape>(
  when: string,
  shape: Shape,
  kind?: readonly (keyof Shape & string)[],
): EventDefinition<z.ZodObject<Shape, z.core.$strict>> {
  return { when, fields: z.strictObject(shape), ...(kind ? { kind: kind as never } : {}) };
}

/** The kinds of fields, each with its meaning for docs/audit-log.md. */
export const text = (meaning: string) => z.string().describe(meaning);
export const whole = (meaning: string) => z.int().describe(meaning);
export const oneOf = <const Values extends readonly string[]>(values: Values, meaning: string) =>
  z.enum(values).describe(meaning);

/** The fields that mean the same in every event. Who and what is named by ids, which say nothing to a stranger. */
export const field = {
  accountId: whole('the account'),
  boardId: whole('the board'),
  ideaId: whole('the idea'),
  tokenId: whole('the token; never its secret'),
  webhookId: whole('the webhook'),
  channelId: whole('the chat channel'),
  requestId: text('the `X-Request-Id` of the answer, which is in the log, too'),
  ip: text('the network of the client, and the hash of its address: see above'),
  changed: z.array(z.string()).describe('the names of the fields that are different now'),
  origin: text('the scheme and host of the URL: its path may be a secret'),
} as const;
