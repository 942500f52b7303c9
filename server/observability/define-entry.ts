import { z } from 'zod';

/** A kind of entry in the audit log: when it is written, and its fields. */
export interface EntryDefinition<Fields extends z.ZodObject = z.ZodObject> {
  /** One sentence for docs/audit-log.md. */
  when: string;
  fields: Fields;
  /**
   * Limits an entry that anybody can cause at any rate. Of the entries that differ only in `request_id`, the first in a
   * minute is written, and the others are counted.
   */
  countsRepetitions?: true;
}

type Definition<Shape extends z.ZodRawShape> = EntryDefinition<z.ZodObject<Shape, z.core.$strict>>;

export function defineEntry<Shape extends z.ZodRawShape>(when: string, shape: Shape): Definition<Shape> {
  return { when, fields: z.strictObject(shape) };
}

export function defineCountedEntry<Shape extends z.ZodRawShape>(when: string, shape: Shape): Definition<Shape> {
  return { ...defineEntry(when, shape), countsRepetitions: true };
}

export const text = (meaning: string) => z.string().describe(meaning);
export const whole = (meaning: string) => z.int().describe(meaning);
export const oneOf = <const Values extends readonly string[]>(values: Values, meaning: string) =>
  z.enum(values).describe(meaning);

/** Fields with the same meaning in every entry. Ids name people and things, because they reveal nothing. */
export const field = {
  accountId: whole('the account'),
  boardId: whole('the board'),
  ideaId: whole('the idea'),
  targetId: whole('the target of the merge'),
  tokenId: whole('the token; never its secret'),
  webhookId: whole('the webhook'),
  channelId: whole('the chat channel'),
  requestId: text('the `X-Request-Id` of the answer, which is also in the ordinary log'),
  ip: text('the network of the client and the hash of its address: see above'),
  changed: z.array(z.string()).describe('the names of the changed fields'),
  origin: text('the scheme and host of the URL, without the path, which may be a secret'),
} as const;
