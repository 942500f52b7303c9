/** Where clients come: each is served in serve-oauth.ts, and what else the provider has is not. */
export const routes = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
} as const;

/** Where a request awaits consent. The cookie that tells whose browser it is is kept to this path. */
export function consentPathOf(uid: string): string {
  return `/admin/connect/${uid}`;
}
