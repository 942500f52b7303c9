import type { DemoTokens } from './load-demo.ts';

/**
 * Returns the message that the first start prints. The message describes the new demo account. Agents that sign in by
 * OAuth can connect only to `publicUrl`.
 */
export function describeDemo(baseUrl: string, publicUrl: string, tokens: DemoTokens): string {
  const [first, second] = tokens.boardSlugs;
  return `
A demo account was created. Its tokens are shown only once. To create another: npm run cli -- token create

  read      ${tokens.read}
  write     ${tokens.write}
  moderate  ${tokens.moderate}
  both      ${tokens.allBoards}

The first three are for the board ${first}. The last is for both boards and needs ?board=${first} or ?board=${second}.

  curl -H 'Authorization: Bearer ${tokens.read}' '${baseUrl}/api/v1/ideas?sort=top&per_page=3'

Agents find their tools at ${publicUrl}/api/v1/mcp. To connect an agent, see docs/mcp.md.

Everybody can read both boards in a browser, for example ${baseUrl}/b/${first}

To administer the account in a browser, sign in with this password, which is also shown only once:

  page      ${baseUrl}/admin
  e-mail    ${tokens.signIn.email}
  password  ${tokens.signIn.password}
`;
}
