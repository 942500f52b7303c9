import { randomBytes } from 'node:crypto';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { Identity, IdentityProvider } from '../../entities/identity.ts';
import { type AddressGuard, problemOfUrl } from '../../outgoing/address-guard.ts';
import { t } from '../../text/catalogue.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError, invalid, noteFields } from '../administration.ts';
import { checkName, checkText } from '../fields.ts';
import type { SecretBox } from '../secret-box.ts';

const maxProviders = 20;
const maxIssuerLength = 500;

/**
 * The `purpose` argument for SecretBox contains the account's id. So the server cannot decrypt a secret that somebody
 * copied into a row of another account.
 */
export const providerSecretPurpose = (accountId: number) => `client secret of account ${accountId}`;

export interface ProviderFields {
  name: string;
  clientId: string;
  /** The new client secret. If undefined, the stored secret does not change. */
  clientSecret: string | undefined;
  admitsEverybody: boolean;
}

/** Adds an OpenID Connect provider to an account. The caller has checked that the provider answers. */
export async function createProvider(
  admin: Administration,
  secretBox: SecretBox,
  { accountId, issuer, ...fields }: ProviderFields & { accountId: number; issuer: string },
): Promise<IdentityProvider> {
  await lockAccount(admin, accountId);
  if ((await admin.em.count(IdentityProvider, { accountId })) >= maxProviders) {
    throw new AdministrationError('conflict', t('identities.problems.most_providers', { count: maxProviders }));
  }
  const provider = admin.em.create(IdentityProvider, {
    accountId,
    key: randomBytes(16).toString('hex'),
    issuer,
    name: checkName(fields.name, 60),
    clientId: checkClientId(fields.clientId),
    clientSecret: secretBox.seal(checkSecret(fields.clientSecret ?? ''), providerSecretPurpose(accountId)),
    admitsEverybody: fields.admitsEverybody,
    createdAt: admin.now,
  });
  await admin.em.flush();
  admin.audit.record('identity_provider.created', describe(provider));
  return provider;
}

/**
 * Changes a provider, but never its issuer. Each external identity contains the id of a person at the issuer. An admin
 * who could enter another issuer could sign in as the users of these identities.
 */
export async function updateProvider(
  admin: Administration,
  secretBox: SecretBox,
  provider: IdentityProvider,
  { name, clientId, clientSecret, admitsEverybody }: ProviderFields,
): Promise<void> {
  const changedFields = noteFields(provider, ['name', 'clientId', 'admitsEverybody']);
  provider.name = checkName(name, 60);
  provider.clientId = checkClientId(clientId);
  provider.admitsEverybody = admitsEverybody;
  if (clientSecret !== undefined) {
    provider.clientSecret = secretBox.seal(checkSecret(clientSecret), providerSecretPurpose(provider.accountId));
  }
  await admin.em.flush();
  const changed = [...changedFields(), ...(clientSecret === undefined ? [] : ['client_secret'])];
  if (changed.length > 0) admin.audit.record('identity_provider.updated', { ...describe(provider), changed });
}

/**
 * Deletes an OpenID Connect provider and the identities of the people who signed in with it. Also ends the sessions
 * that these people began with the provider. The users and their ideas are kept.
 */
export async function deleteProvider(admin: Administration, provider: IdentityProvider): Promise<void> {
  const { accountId, id: providerId } = provider;
  await lockAccount(admin, accountId);
  const identities = await admin.em.nativeDelete(Identity, { accountId, providerId });
  const deleted = describe(provider);
  await admin.em.remove(provider).flush();
  admin.audit.record('identity_provider.deleted', { ...deleted, identities });
}

export async function requireProvider(admin: Administration, accountId: number, id: number): Promise<IdentityProvider> {
  const provider = await admin.em.findOne(IdentityProvider, { id, accountId });
  if (!provider) throw new AdministrationError('not_found', t('identities.problems.gone'));
  return provider;
}

/**
 * Lists the OpenID Connect providers of an account, the oldest first. Each has the number of its external identities
 * (people who can sign in with it).
 */
export function listProviders({ db }: Administration, accountId: number) {
  return db
    .selectFrom('identity_providers as p')
    .select(['p.id', 'p.key', 'p.name', 'p.issuer', 'p.client_id', 'p.admits_everybody', 'p.created_at'])
    .select(p =>
      p
        .selectFrom('identities as i')
        .where('i.account_id', '=', accountId)
        .whereRef('i.provider_id', '=', 'p.id')
        .select(i => i.fn.countAll<number>().as('count'))
        .$asScalar()
        .$notNull()
        .as('identity_count'),
    )
    .where('p.account_id', '=', accountId)
    .orderBy('p.id')
    .execute();
}

export type ProviderListing = Awaited<ReturnType<typeof listProviders>>[number];

/** An OpenID Connect provider with the data that a sign-in needs. */
export type SignInProvider = RowOf<typeof selectByKey>;

const selectByKey = query('select_identity_provider', (db, $: Arguments<{ key: string }>) =>
  db
    .selectFrom('identity_providers as p')
    .innerJoin('accounts as a', 'a.id', 'p.account_id')
    .select(['p.account_id', 'p.id', 'p.key', 'p.name', 'a.name as account_name', 'p.issuer', 'p.client_id'])
    .select(['p.client_secret', 'p.admits_everybody'])
    .where('p.key', '=', $.key)
    .where('a.erasure_began_at', 'is', null),
);

/** Finds an OpenID Connect provider by the key in the URL of a sign-in. */
export async function findProvider(db: Queryable, key: string): Promise<SignInProvider | undefined> {
  const [provider] = await db.query(selectByKey, { key });
  return provider;
}

const selectDescription = query(
  'select_description_of_connection',
  (db, $: Arguments<{ accountId: number; providerId: number | null }>) =>
    db
      .selectFrom('accounts as a')
      .leftJoin('identity_providers as p', join =>
        join.on('p.account_id', '=', $.accountId).on('p.id', '=', $.providerId),
      )
      .select(['a.name as account_name', 'p.name as provider', 'p.admits_everybody'])
      .where('a.id', '=', $.accountId)
      .where('a.erasure_began_at', 'is', null),
);

/**
 * Returns the names of the account and of the provider of an external identity (a person at a provider) that is not
 * connected yet. Returns undefined if the account or the provider was deleted.
 */
export async function describeConnection(db: Queryable, identity: { accountId: number; providerId: number | null }) {
  const { accountId, providerId } = identity;
  const [described] = await db.query(selectDescription, { accountId, providerId });
  return described && (described.provider === null) === (providerId === null) ? described : undefined;
}

/** A provider for which a page shows a sign-in button. */
export type ProviderButton = RowOf<typeof selectButtons>;

const selectButtons = query('select_provider_buttons', (db, $: Arguments<{ accountId: number }>) =>
  db.selectFrom('identity_providers').select(['key', 'name']).where('account_id', '=', $.accountId).orderBy('id'),
);

export function listProviderButtons(db: Queryable, accountId: number): Promise<ProviderButton[]> {
  return db.query(selectButtons, { accountId });
}

/**
 * Returns the issuer's URL without the path of the metadata, because people also paste the URL of the provider's
 * metadata. The URL must use HTTPS, because the server sends the client secret to the issuer. Only a provider on the
 * same machine may use HTTP.
 */
export function checkIssuer(value: string, guard: AddressGuard): string {
  const issuer = value.trim().replace(/\/\.well-known\/openid-configuration$/, '');
  const url = URL.parse(issuer);
  const hasProblem = issuer.length > maxIssuerLength || problemOfUrl(issuer, guard) !== undefined;
  if (!url || hasProblem || url.search !== '' || url.hash !== '') throw invalid(t('identities.problems.issuer'));
  if (url.protocol !== 'https:' && !isLoopback(url)) throw invalid(t('identities.problems.not_https'));
  return issuer;
}

export function isLoopback({ hostname }: URL): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}

const checkClientId = (value: string) => checkText(value, 1, 300, 'client_id');

const checkSecret = (value: string) => checkText(value, 1, 1000, 'client_secret');

const describe = ({ accountId, id }: IdentityProvider) => ({ account_id: accountId, provider_id: id });
