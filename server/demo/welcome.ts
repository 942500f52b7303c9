import type { DemoTokens } from './load-demo.ts';

/** What the first start tells a person about the demo account. Agents connect by the public address, and by no other. */
export function describeDemo(baseUrl: string, publicUrl: string, tokens: DemoTokens): string {
  const [first, second] = tokens.boardSlugs;
  return `
A demo account was made. Its tokens are shown this once; npm run cli -- token create makes another.

  read      ${tokens.read}
  write     ${tokens.write}
  moderate  ${tokens.moderate}
  both      ${tokens.allBoards}

The first three are for the board ${first}; the last is for both boards and needs ?board=${first} or ?board=${second}.

  curl -H 'Authorization: Bearer ${tokens.read}' '${baseUrl}/api/v1/ideas?sort=top&per_page=3'

Agents find their tools at ${publicUrl}/api/v1/mcp; docs/mcp.md says how to connect them.

Everybody may read both boards in a browser, such as ${baseUrl}/b/${first}

To administer the account in a browser, sign in with what is shown this once, too:

  page      ${baseUrl}/admin
  e-mail    ${tokens.signIn.email}
  password  ${tokens.signIn.password}
`;
}
