import type { Queryable } from '../database/database.ts';
import type { AuditTrail } from './administration.ts';

/** Who reads, of which board: somebody, or everybody. */
export type Reader = Actor | PublicReader;

/** Everybody who has the address of a public board. What is pending or in a hidden status is not there for them. */
export interface PublicReader {
  readonly accountId: number;
  readonly boardId: number;
  readonly voterId: null;
  readonly isModerator: false;
}

/** Who acts, on which board: a token of the Agent API for its issuer, or a person. */
export interface Actor {
  readonly accountId: number;
  readonly boardId: number;
  readonly userId: number;
  /** The token that acts for the user; null when the user acts in person. */
  readonly tokenId: number | null;
  /** Under which voter the actor votes: the token's own, or the user's. */
  readonly voterId: number;
  /** Whether the actor acts as a moderator: sees pending ideas, and creates published ones. */
  readonly isModerator: boolean;
}

/** What an operation is given that only reads: the reader, and the database. */
export interface ReadOperation extends Queryable {
  readonly actor: Reader;
}

/** What every other operation of the domain is given: the actor, the time, and the database. */
export interface Operation extends ReadOperation {
  readonly actor: Actor;
  readonly now: Date;
}

/** An operation that changes rows. It runs in a transaction, so that its changes are made together or not at all. */
export interface WriteOperation extends Operation {
  /** Where a person tells what they changed. A token has none: webhooks tell of what it does. */
  readonly audit?: AuditTrail;
}

/** No voter has this id: so reads and moderates a person who has not voted yet. */
export const noVoter = 0;

export function isPublicReader(reader: Reader): reader is PublicReader {
  return reader.voterId === null;
}
