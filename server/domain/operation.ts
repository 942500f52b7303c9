import type { Queryable } from '../database/database.ts';
import type { AuditTrail } from './administration.ts';

/** The reader of a board: an actor or the public. */
type Reader = Actor | PublicReader;

/** Any visitor of a public board. Cannot read pending ideas or ideas in hidden statuses. */
interface PublicReader {
  readonly accountId: number;
  readonly boardId: number;
  readonly voterId: null;
  readonly isModerator: false;
}

/** The user who acts on a board, in person or through a token of the Agent API. */
export interface Actor {
  readonly accountId: number;
  readonly boardId: number;
  readonly userId: number;
  /** The token that acts for the user; null when the user acts in person. */
  readonly tokenId: number | null;
  /** The voter of the token, or of the user in person. */
  readonly voterId: number;
  /** A moderator can read pending ideas, and the own ideas of a moderator are published at once. */
  readonly isModerator: boolean;
}

/** The context of an operation that only reads. */
export interface ReadOperation extends Queryable {
  readonly actor: Reader;
}

/** The context of every other operation. */
export interface Operation extends ReadOperation {
  readonly actor: Actor;
  readonly now: Date;
}

/** The context of an operation in a transaction. */
export interface WriteOperation extends Operation {
  /** Records the changes of a person. Undefined for a token: only webhooks report its changes. */
  readonly audit?: AuditTrail;
}

/** Stands for the voter of a person who has not voted yet. No voter has this id. */
export const noVoter = 0;

export function isPublicReader(reader: Reader): reader is PublicReader {
  return reader.voterId === null;
}
