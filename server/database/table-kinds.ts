import type { Tables } from './tables.ts';

/**
 * The kind of a table, which tells whether the rows of the table belong to an account:
 *
 * - tenant: each row belongs to one account and has `account_id not null`. In the table `accounts`, the column `id`
 *   identifies the account.
 * - global: the rows describe people and OAuth clients, who may belong to several accounts.
 * - local: the rows concern only this database and never move to another one.
 */
export type TableKind = { kind: 'tenant'; reason?: string } | { kind: 'global' | 'local'; reason: string };

const tenant: TableKind = { kind: 'tenant' };
const global = (reason: string): TableKind => ({ kind: 'global', reason });
const local = (reason: string): TableKind => ({ kind: 'local', reason });

/**
 * The kind of every table. An operator who spreads the data over several databases must move whole accounts. The kinds
 * show which rows belong to an account.
 */
export const tableKinds: Readonly<Record<keyof Tables | 'schema_migrations', TableKind>> = {
  accounts: { kind: 'tenant', reason: 'Its id is the account.' },
  api_token_boards: tenant,
  api_tokens: tenant,
  boards: tenant,
  chat_channels: tenant,
  comments: tenant,
  embedding_secrets: tenant,
  event_positions: tenant,
  event_waits: tenant,
  events: tenant,
  extension_subscriptions: local('A few rows for each extension of this installation. They apply to every account.'),
  external_ids: tenant,
  followers: tenant,
  heartbeats: local('One row for each periodic job of this database.'),
  idea_notes: tenant,
  idea_tags: tenant,
  idea_terms: tenant,
  ideas: tenant,
  idempotency_keys: tenant,
  identities: tenant,
  identity_providers: tenant,
  invitations: tenant,
  memberships: tenant,
  mentions: tenant,
  merges: tenant,
  notifications: tenant,
  oauth_records: global('A client has no account, and a sign-in gets one only when a grant names its token.'),
  password_links: global('Belongs to a person. The token of the link is the only way to find it.'),
  pictures: global('Belongs to a person, who has one picture for all accounts.'),
  rate_limits: local('Short-lived counters. Some count addresses, which belong to no account.'),
  recovery_codes: global('Belongs to a person, who signs in once for all accounts.'),
  schema_migrations: local('The migrations of this database. The migrator owns it, so it has no entity.'),
  second_factors: global('Belongs to a person, who signs in once for all accounts.'),
  sessions: global('Belongs to a person. The token of the session is the only way to find it.'),
  sign_in_links: global('Belongs to a mailbox. A link that signs nobody up has no account.'),
  sign_in_challenges: global('Belongs to a person. The token of the challenge is the only way to find it.'),
  sign_in_methods: global('Belongs to a person, who signs in once for all accounts.'),
  statuses: tenant,
  tags: tenant,
  token_usage: tenant,
  used_embedding_tokens: tenant,
  user_blocks: tenant,
  users: global('A person may be a member of several accounts.'),
  vote_followings: tenant,
  vote_networks: tenant,
  voters: tenant,
  votes: tenant,
  webhook_attempts: tenant,
  webhook_deliveries: tenant,
  webhook_endpoints: tenant,
};

/**
 * The place of a table with Citus. A distributed table is split by account over the worker nodes. Each node has a copy of
 * a reference table. A local table stays on the coordinator.
 */
type Placement = 'distributed' | 'reference' | 'local';

/** The reference tables. They are small, and statements join them with distributed tables. */
const references: readonly string[] = ['accounts', 'boards', 'memberships', 'statuses', 'tags', 'user_blocks', 'users'];

/**
 * Tenant tables that stay on the coordinator. Requests find their rows before the account is known: by the id of a token,
 * the hash of an invitation or the key of a provider. Or the rows belong to a token.
 */
const onCoordinator: readonly string[] = [
  'api_token_boards',
  'api_tokens',
  'event_waits',
  'idempotency_keys',
  'identities',
  'identity_providers',
  'invitations',
  'token_usage',
];

export function placementOf(table: keyof typeof tableKinds): Placement {
  if (references.includes(table)) return 'reference';
  return tableKinds[table]?.kind === 'tenant' && !onCoordinator.includes(table) ? 'distributed' : 'local';
}
