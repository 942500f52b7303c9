import type { z } from 'zod';
import { administrationEntries } from './administration-entries.ts';
import type { EntryDefinition } from './define-entry.ts';
import { oauthEntries, requestEntries, signInEntries } from './request-entries.ts';

/** Every kind of audit entry, by its name. The name is the field `event` of a line in the audit log. */
export const auditEntries = {
  ...requestEntries,
  ...signInEntries,
  ...oauthEntries,
  ...administrationEntries,
} satisfies Record<string, EntryDefinition>;

/**
 * The fields of each kind of audit entry. The server masks IP addresses and e-mail addresses when it writes an entry.
 */
export type AuditEntries = { [Name in keyof typeof auditEntries]: z.input<(typeof auditEntries)[Name]['fields']> };

export type AuditEntryName = keyof AuditEntries;

export type AdministrationEntryName = keyof typeof administrationEntries;

/**
 * The actor of an audit entry. An operator has a user id only in the operator's panel, and no id on the command line.
 */
export type AuditActor =
  | { readonly by: 'operator' | 'server' }
  | { readonly by: 'operator' | 'user'; readonly by_user_id: number }
  | { readonly by: 'token'; readonly by_user_id: number; readonly by_token_id: number };
