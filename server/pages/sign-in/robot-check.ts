import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { ServerDependencies } from '../../dependencies.ts';
import { fieldOf } from '../shell/form.ts';

/**
 * The minimum time in milliseconds between loading the page and sending its form. A person needs longer to enter an
 * e-mail address.
 */
const minMs = 2_000;

/**
 * Recognizes forms that programs send. Such a form arrives too soon after its page, or has a value in a field that
 * people do not see. The page has the time of its creation in a hidden field, with a MAC, so that a program must load
 * the page.
 */
export function buildRobotCheck({ appKey, clock }: Pick<ServerDependencies, 'appKey' | 'clock'>) {
  const key = Buffer.from(hkdfSync('sha256', appKey, '', 'idea-board form time 1', 32));
  const macOf = (time: string) => createHmac('sha256', key).update(time).digest();

  return {
    /** Returns the value of the hidden field `opened`, which contains the time when the page was created. */
    stamp(): string {
      const time = String(clock.now().getTime());
      return `${time}.${macOf(time).toString('base64url')}`;
    },
    isRobot(body: unknown): boolean {
      const [time = '', mac = ''] = fieldOf(body, 'opened').split('.', 2);
      const given = Buffer.from(mac, 'base64url');
      const expected = macOf(time);
      const isOurs = given.length === expected.length && timingSafeEqual(given, expected);
      return !isOurs || clock.now().getTime() - Number(time) < minMs || fieldOf(body, 'topic') !== '';
    },
  };
}
