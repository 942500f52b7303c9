import type { FastifyRequest } from 'fastify';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { mayBlock } from '../../domain/users/block-user.ts';
import type { PersonView } from '../../domain/users/read-people.ts';
import { pathIn, sessionOf } from '../shell/session.ts';

/** What the pages say of somebody beside their name. */
export interface ShownPerson {
  isBlocked: boolean;
  /** Where they are blocked and unblocked; undefined where the reader may not. */
  blockPath?: string | undefined;
}

/** Undefined is somebody whom the account does not know, such as the deleted user. */
export function presentPerson(
  request: FastifyRequest,
  account: AccountOfUser,
  person: PersonView | undefined,
  way: Record<string, string>,
): ShownPerson {
  if (!person) return { isBlocked: false };
  const isOpen = person.id !== sessionOf(request).user.id && mayBlock(account.role, person.role);
  return {
    isBlocked: person.is_blocked,
    blockPath: isOpen ? pathIn(request, account, `/admin/blocks/${person.id}`, way) : undefined,
  };
}
