import { z } from 'zod';

/** A kind of audit entry: its cause and its fields. */
export interface EntryDefinition<Fields extends z.ZodObject = z.ZodObject> {
  /** The cause of the entry, as one sentence for docs/audit-log.md. */
  when: string;
  fields: Fields;
  /**
   * Marks an entry that anybody can cause at any rate. Entries that differ only in `request_id` count as repetitions of
   * one entry. In each minute, the log writes the first of these entries and counts the others.
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

/**
 * Fields that mean the same in every audit entry. They contain ids and no names, because names could be personal data.
 */
export const field = {
  accountId: whole('the id of the account'),
  boardId: whole('the id of the board'),
  ideaId: whole('the id of the idea'),
  targetId: whole('the id of the merge target: the idea that receives the votes'),
  tokenId: whole('the id of the API token or OAuth grant, never the secret'),
  webhookId: whole('the id of the webhook'),
  channelId: whole('the id of the chat connection'),
  requestId: text('the `X-Request-Id` of the response, which is also in the ordinary log'),
  ip: text('the network of the client and a hash; see [Client networks](#client-networks)'),
  changed: z.array(z.string()).describe('the names of the changed fields'),
  origin: text('the scheme and host of the webhook URL, without the path, which may be a secret'),
} as const;
