import type { FastifyRequest } from 'fastify';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import type { DeliverySummary } from '../../domain/webhooks/list-delivery-page.ts';
import type { AttemptDetails, DeliveryDetails } from '../../domain/webhooks/read-delivery.ts';
import type { DeliveryState } from '../../entities/webhook.ts';
import { type Quotation, quotationOf } from '../../pages/shell/quotation.ts';
import { pathIn } from '../shell/session.ts';
import { type ShownTime, showTime } from '../shell/show.ts';

export interface ShownState {
  label: string;
  chip: string;
}

/** A delivery in the log. */
export interface ShownDelivery {
  id: number;
  type: string;
  state: ShownState;
  created: ShownTime;
  /** What came of the last try. */
  outcome: string;
  next: ShownTime | undefined;
  path: string;
}

/** A delivery on its own page. */
export interface ShownRequest {
  type: string;
  state: ShownState;
  isPending: boolean;
  created: ShownTime;
  finished: ShownTime | undefined;
  next: ShownTime | undefined;
  webhookId: string;
  contentLength: number;
  body: Quotation;
}

export interface ShownAttempt {
  attempted: ShownTime;
  /** The webhook-timestamp header of the try. */
  timestamp: number;
  durationMs: number;
  outcome: ShownState;
  response: Quotation | undefined;
}

export const deliveryStates: Record<DeliveryState, ShownState> = {
  pending: { label: 'Waiting', chip: 'chip-planned' },
  delivered: { label: 'Delivered', chip: 'chip-completed' },
  dead: { label: 'Given up', chip: 'chip-declined' },
};

/*
 * How much of a page of 50 kB each text may take. Of the last try everything is shown that is kept of an answer, as long
 * as it is not all signs that HTML escapes.
 */
const maxBodyBytes = 10_000;
const maxLastResponseBytes = 6_000;
const maxResponseBytes = 800;

export function presentSummary(
  request: FastifyRequest,
  account: AccountOfUser,
  endpointId: number,
  delivery: DeliverySummary,
): ShownDelivery {
  const { id, type, state, last_attempt: last } = delivery;
  return {
    id,
    type,
    state: deliveryStates[state],
    created: showTime(new Date(delivery.created_at)),
    outcome: last ? `${last.error ?? last.status} (${last.duration_ms} ms)` : '',
    next: timeOf(delivery.next_attempt_at),
    path: pathIn(request, account, `/admin/webhooks/${endpointId}/deliveries/${id}`),
  };
}

export function presentDelivery(delivery: DeliveryDetails): ShownRequest {
  const { type, state, body } = delivery;
  return {
    type,
    state: deliveryStates[state],
    isPending: state === 'pending',
    created: showTime(new Date(delivery.created_at)),
    finished: timeOf(delivery.finished_at),
    next: timeOf(delivery.next_attempt_at),
    webhookId: delivery.webhook_id,
    contentLength: Buffer.byteLength(body),
    body: quotationOf(JSON.stringify(JSON.parse(body), null, 2), maxBodyBytes),
  };
}

/** The tries of a page, of which the first is the last one of all where the page is the first. */
export function presentAttempts(attempts: readonly AttemptDetails[], isFirstPage: boolean): ShownAttempt[] {
  return attempts.map((attempt, index) => {
    const attemptedAt = new Date(attempt.attempted_at);
    const maxBytes = isFirstPage && index === 0 ? maxLastResponseBytes : maxResponseBytes;
    return {
      attempted: showTime(attemptedAt),
      timestamp: Math.floor(attemptedAt.getTime() / 1000),
      durationMs: attempt.duration_ms,
      outcome: outcomeOf(attempt),
      response: attempt.response === null ? undefined : quotationOf(attempt.response, maxBytes),
    };
  });
}

function outcomeOf({ status, error }: AttemptDetails): ShownState {
  const isDelivered = status !== null && status >= 200 && status < 300;
  const label = status === null ? (error ?? '') : `Answered ${status}`;
  return { label, chip: isDelivered ? 'chip-completed' : 'chip-declined' };
}

function timeOf(text: string | null): ShownTime | undefined {
  return text === null ? undefined : showTime(new Date(text));
}
