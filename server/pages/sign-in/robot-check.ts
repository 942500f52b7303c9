import type { ServerDependencies } from '../../dependencies.ts';
import { buildSigner } from '../../domain/signer.ts';
import { fieldOf } from '../shell/form.ts';

/**
 * The minimum time in milliseconds between loading the page and sending its form. A person needs longer to enter an
 * e-mail address.
 */
const minMs = 2_000;

/**
 * Recognizes forms that programs send. Such a form arrives too soon after its page, or has a value in a field that
 * people do not see. The page has the time of its creation in a hidden field, with a signature, so that a program must
 * load the page.
 */
export function buildRobotCheck({ appKey, clock }: Pick<ServerDependencies, 'appKey' | 'clock'>) {
  const signer = buildSigner(appKey, 'form time');

  return {
    /** Returns the value of the hidden field `opened`, which contains the time when the page was created. */
    stamp: (): string => signer.sign(String(clock.now().getTime())),
    isRobot(body: unknown): boolean {
      const time = signer.read(fieldOf(body, 'opened'));
      return time === undefined || clock.now().getTime() - Number(time) < minMs || fieldOf(body, 'topic') !== '';
    },
  };
}
