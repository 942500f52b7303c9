import type { AttemptDetails, DeliveryDetails, DeliverySummary } from '../../domain/webhooks/list-deliveries.ts';
import type { DeliveryState } from '../../entities/webhook.ts';
import { showStored, showTime } from '../../pages/shell/show.ts';
import { t } from '../../text/catalogue.ts';
import { escapeHtml } from '../../text/html.ts';
import { visibleText } from '../../text/plain-text.ts';

const chips: Record<DeliveryState, string> = {
  pending: 'chip-planned',
  delivered: 'chip-completed',
  dead: 'chip-declined',
};

export const deliveryStates = Object.keys(chips) as DeliveryState[];

export function presentState(state: DeliveryState) {
  return { label: t(`webhooks.delivery_states.${state}`), chip: chips[state] };
}

/*
 * The maximum sizes of the bodies and responses on a page, so that the page stays below 50 kB. The page shows the whole
 * stored response of the last attempt, unless the escaped response is longer than maxLastResponseBytes.
 */
const maxBodyBytes = 10_000;
const maxLastResponseBytes = 6_000;
const maxResponseBytes = 800;

/** Returns the data of a delivery for the list in the delivery log, with the outcome of the delivery's last attempt. */
export function presentSummary(delivery: DeliverySummary) {
  const { id, type, state, last_attempt: last } = delivery;
  return {
    id,
    type,
    state: presentState(state),
    created: showTime(new Date(delivery.created_at)),
    outcome: last ? `${last.error ?? last.status} (${last.duration_ms} ms)` : '',
    next: showStored(delivery.next_attempt_at),
  };
}

export function presentDelivery(delivery: DeliveryDetails) {
  const { type, state, body } = delivery;
  return {
    type,
    state: presentState(state),
    isPending: state === 'pending',
    created: showTime(new Date(delivery.created_at)),
    finished: showStored(delivery.finished_at),
    next: showStored(delivery.next_attempt_at),
    webhookId: delivery.webhook_id,
    contentLength: Buffer.byteLength(body),
    body: quotationOf(JSON.stringify(JSON.parse(body), null, 2), maxBodyBytes),
  };
}

/**
 * Returns the data of the attempts on one page of a delivery's list, newest first. The first page begins with the last
 * attempt.
 */
export function presentAttempts(attempts: readonly AttemptDetails[], isFirstPage: boolean) {
  return attempts.map(({ attempted_at, duration_ms, status, error, response }, index) => {
    const attemptedAt = new Date(attempted_at);
    const isDelivered = status !== null && status >= 200 && status < 300;
    const maxBytes = isFirstPage && index === 0 ? maxLastResponseBytes : maxResponseBytes;
    return {
      attempted: showTime(attemptedAt),
      /** The value of the attempt's webhook-timestamp header. */
      timestamp: Math.floor(attemptedAt.getTime() / 1000),
      durationMs: duration_ms,
      outcome: {
        label: status === null ? (error ?? '') : t('webhooks.delivery.answered', { status }),
        chip: isDelivered ? 'chip-completed' : 'chip-declined',
      },
      response: response === null ? undefined : quotationOf(response, maxBytes),
    };
  });
}

/** A text that another program wrote, such as a response. Pages show it in a <pre> element. */
interface Quotation {
  text: string;
  /** Whether the original text is longer than the quotation. */
  isCut: boolean;
}

/**
 * Shortens a text from another program, so that it takes at most `maxBytes` bytes in the page. Also escapes its control
 * characters.
 */
function quotationOf(text: string, maxBytes: number): Quotation {
  const visible = visibleText(text);
  let bytes = 0;
  let end = 0;
  for (const character of visible) {
    bytes += Buffer.byteLength(escapeHtml(character));
    if (bytes > maxBytes) return { text: visible.slice(0, end), isCut: true };
    end += character.length;
  }
  return { text: visible, isCut: false };
}
