import type { Queryable } from '../database/database.ts';
import type { Administration, AuditTrail } from './administration.ts';

type Reader = Actor | PublicReader;

/** A visitor of a public board. Visitors cannot read pending ideas or ideas in hidden statuses. */
interface PublicReader {
  readonly accountId: number;
  readonly boardId: number;
  readonly voterId: null;
  readonly isModerator: false;
}

/**
 * The user who acts on a board. The user has signed in on the pages, or acts through a token of the Agent API or
 * through an extension.
 */
export interface Actor {
  readonly accountId: number;
  readonly boardId: number;
  readonly userId: number;
  /** The id of the token that acts for the user. Null if no token is used. */
  readonly tokenId: number | null;
  /**
   * The id of the voter that the actor's votes belong to. A token has its own voter. A user who acts without a token
   * has another voter.
   */
  readonly voterId: number;
  /**
   * Whether the actor may moderate the board. The user needs a role that may moderate, and a token also needs the
   * moderate grant. A moderator can read pending ideas, and a moderator's new ideas need no approval.
   */
  readonly isModerator: boolean;
  /**
   * Whether the token's moderate grant has no effect, because the token's issuer no longer has a role that may
   * moderate.
   */
  readonly hasLostModeration?: boolean;
}

export interface ReadOperation extends Queryable {
  readonly actor: Reader;
}

export interface Operation extends ReadOperation {
  readonly actor: Actor;
  readonly now: Date;
}

export interface WriteOperation extends Operation {
  /**
   * The audit trail of a change that the user makes on a page. Undefined for most changes with a token or by an
   * extension. Webhooks report such a change, but the audit log does not.
   */
  readonly audit?: AuditTrail;
}

/** The context of an operation on a board that always records audit entries. */
export interface AuditedOperation extends Administration {
  readonly actor: Actor;
}

/** Returns the context for operations of an actor on a board. */
export function actingIn(admin: Administration, actor: Actor): AuditedOperation {
  // Uses `admin` as the prototype instead of copying it. A copy would create the entity manager and the query builder,
  // which few operations need.
  return Object.assign<Administration, Pick<AuditedOperation, 'actor'>>(Object.create(admin), { actor });
}

/** The voter id of a person who has not voted yet. No real voter has this id. */
export const noVoter = 0;

export function isPublicReader(reader: Reader): reader is PublicReader {
  return reader.voterId === null;
}
