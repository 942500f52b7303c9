import { t } from '../../text/catalogue.ts';
import { escapeHtml } from '../../text/html.ts';

/** Returns the HTML of an iframe that shows a board on a page of another site. */
export function frameCode(attributes: Record<string, string>): string {
  const all = { ...attributes, title: t('shell.labels.ideas'), style: 'width: 100%; height: 50rem; border: 0' };
  return `<iframe ${Object.entries(all)
    .map(([name, value]) => `${name}="${escapeHtml(value)}"`)
    .join(' ')}></iframe>`;
}

/**
 * Returns sample code for Node.js. An application that embeds a board uses this code to sign a token for one of its
 * users.
 */
export function tokenCode(audience: string): string {
  return `import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';

const secret = new TextEncoder().encode(process.env.IDEA_BOARD_SECRET);

export function ideaBoardToken(user) {
  return new SignJWT({ email: user.email, name: user.name })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(String(user.id))
    .setAudience('${audience}')
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime('2m')
    .sign(secret);
}`;
}

/**
 * Returns sample HTML for a page of another site. The HTML shows a board in a frame and sends the user's token to that
 * frame.
 */
export function pageCode(address: string): string {
  return `${frameCode({ name: 'ideas' })}
<form id="ideas-sign-in" method="post" target="ideas" action="${escapeHtml(address)}">
  <input type="hidden" name="token" value="TOKEN">
</form>
<script>document.getElementById('ideas-sign-in').submit();</script>`;
}
