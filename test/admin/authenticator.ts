import { TOTP } from 'otpauth';
import { expect } from 'vitest';
import type { Clock } from '../../server/domain/time.ts';
import type { TestClock } from '../helpers/clock.ts';
import { hiddenFields, type Visitor } from './visitor.ts';

export const secondFactorPage = '/admin/profile/second-factor';

/** An authenticator app with one secret, and the recovery codes that the user has saved. */
export interface Authenticator {
  secret: string;
  /** Returns the code of the current time step. The offset selects an earlier or a later time step. */
  code(offset?: number): string;
  recoveryCodes: string[];
}

export function authenticatorWith(secret: string, clock: Clock): Omit<Authenticator, 'recoveryCodes'> {
  const totp = new TOTP({ secret });
  const code = (offset = 0) => totp.generate({ timestamp: clock.now().getTime() + offset * step });
  return { secret, code };
}

const step = 30_000;

/** Opens the page with the QR code. Returns the page and the secret in the QR code. */
export async function openOffer(visitor: Visitor, password: string) {
  const offered = await visitor.submit(secondFactorPage, `${secondFactorPage}/offer`, { current_password: password });
  expect(offered.status).toBe(200);
  return { html: offered.html, secret: readOffer(offered.html) };
}

function readOffer(html: string): string {
  const [, shown = ''] = /aria-label="The secret">([A-Z2-7 ]+)</.exec(html) ?? [];
  return shown.replaceAll(' ', '');
}

function readRecoveryCodes(html: string): string[] {
  const [, shown = ''] = /aria-label="The recovery codes">([^<]+)</.exec(html) ?? [];
  return shown.split('\n');
}

/**
 * Turns on two-factor sign-in for a signed-in user with the current code of the app. The server does not accept this
 * code again.
 */
export async function enrol(visitor: Visitor, password: string, clock: Clock): Promise<Authenticator> {
  const { html, secret } = await openOffer(visitor, password);
  const app = authenticatorWith(secret, clock);
  const action = `${secondFactorPage}/enable`;
  const done = await visitor.post(action, { ...hiddenFields(html, action), code: app.code() });
  expect(done.status, done.html).toBe(200);
  const recoveryCodes = readRecoveryCodes(done.html);
  expect(recoveryCodes).toHaveLength(10);
  return { ...app, recoveryCodes };
}

/** Turns on two-factor sign-in for a signed-in user, and waits for the next code of the app. */
export async function turnOn(visitor: Visitor, password: string, clock: TestClock): Promise<Authenticator> {
  const app = await enrol(visitor, password, clock);
  clock.advance(step);
  return app;
}
