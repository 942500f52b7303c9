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

const id = (what: string) => z.int().describe(what);

/** The fields that mean the same in every event. Who and what is named by ids, which say nothing to a stranger. */
export const field = {
  accountId: id('the account'),
  userId: (who: string) => id(who),
  boardId: id('the board'),
  ideaId: id('the idea'),
  tokenId: id('the token; never its secret'),
  webhookId: id('the webhook'),
  channelId: id('the chat channel'),
  requestId: z.string().describe('the `X-Request-Id` of the answer, which is in the log, too'),
  ip: z.string().describe('the network of the client, and the hash of its address: see above'),
  changed: z.array(z.string()).describe('the names of the fields that are different now'),
  origin: z.string().describe('the scheme and host of the URL: its path may be a secret'),
} as const;
