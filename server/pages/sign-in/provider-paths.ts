import type { Config } from '../../config.ts';
import type { ServerDependencies } from '../../dependencies.ts';
import { listProviderButtons } from '../../domain/identities/providers.ts';
import { shownName } from '../shell/show.ts';

/** Returns the path where a sign-in with an identity provider begins. */
export function providerPath(key: string): string {
  return `/sign-in/provider/${key}`;
}

/**
 * Returns the redirect URI of an account's providers. Each account has its own URI, so that the provider of one account
 * cannot use the answer of another account's provider (RFC 9700, section 4.4).
 */
export function callbackUrl({ BASE_URL }: Pick<Config, 'BASE_URL'>, accountId: number): string {
  return `${BASE_URL}/sign-in/provider/callback/${accountId}`;
}

/** The maximum length of the path of a page after the sign-in (see safeNextPath). */
const maxLength = 1000;

/**
 * Returns the path of the page where a user confirms that a person at an identity provider or on an embedding website
 * is this user. `next` is the path of the page that opens afterwards. Leaves out `next` if it is too long.
 */
export function connectPath(token: string, next: string): string {
  const path = `/admin/profile/connections/connect?${new URLSearchParams({ token })}`;
  const withNext = `${path}&${new URLSearchParams({ next })}`;
  return withNext.length > maxLength ? path : withNext;
}

/**
 * Returns the buttons that start a sign-in with the identity providers of an account, for the template
 * provider-buttons.
 */
export async function readProviderButtons({ database }: Pick<ServerDependencies, 'database'>, accountId: number) {
  const providers = await listProviderButtons(database, accountId);
  return providers.map(({ key, name }) => ({ name: shownName(name), action: providerPath(key) }));
}
