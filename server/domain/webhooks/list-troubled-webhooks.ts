import { type AliasableExpression, type Expression, type ExpressionBuilder, sql } from 'kysely';
import type { QueryBuilding } from '../../database/database.ts';
import type { Tables } from '../../database/tables.ts';
import type { DeliveryState } from '../../entities/webhook.ts';
import { countBounded } from '../bounded-count.ts';
import { cutRows } from '../pagination.ts';
import { stateOfEndpoint } from './list-webhooks.ts';

/**
 * Lists webhooks with problems, for the operators of the server. These are failing webhooks, disabled webhooks, and
 * webhooks with dead deliveries, which the server no longer sends. By default, the queries search all accounts. The
 * queries read no secrets, bodies or responses.
 */

/** `dead`: the webhook has dead deliveries, which the server no longer sends. The webhook itself can be enabled. */
export const troubles = ['failing', 'disabled', 'dead'] as const;
export type WebhookTrouble = (typeof troubles)[number];

export type TroubledWebhook = Awaited<ReturnType<typeof listTroubledWebhooks>>['rows'][number];

/** The position of a webhook in the list, which is sorted by account and then by id. */
interface WebhookPlace {
  accountId: number;
  endpointId: number;
}

interface TroubleFilter {
  /** Lists only webhooks of this account. */
  accountId?: number;
  /** The last webhook on the previous page. */
  after?: WebhookPlace | undefined;
  limit: number;
}

/** Lists a page of the webhooks with one kind of problem. The counts of deliveries stop at countLimit + 1. */
export async function listTroubledWebhooks({ db }: QueryBuilding, trouble: WebhookTrouble, filter: TroubleFilter) {
  const found = trouble === 'dead' ? findWithDeadDeliveries(db, filter) : findInState(db, trouble, filter);
  const rows = await db
    .selectFrom(found.as('found'))
    .innerJoin('webhook_endpoints as w', join =>
      join.onRef('w.account_id', '=', 'found.account_id').onRef('w.id', '=', 'found.id'),
    )
    .innerJoin('accounts as a', 'a.id', 'found.account_id')
    .select(['w.id', 'w.account_id', 'a.slug as account_slug', 'a.name as account_name', 'w.url'])
    .select(['w.failing_since', 'w.disabled_at', 'w.disabled_reason'])
    .select(w => [
      stateOfEndpoint(w).as('state'),
      countBounded(deliveriesOf(w, 'dead')).as('dead_count'),
      countBounded(deliveriesOf(w, 'pending')).as('pending_count'),
    ])
    .orderBy('found.account_id')
    .orderBy('found.id')
    .execute();
  return cutRows(rows, filter.limit);
}

type Db = QueryBuilding['db'];

/** A position before the first webhook. */
const first: WebhookPlace = { accountId: 0, endpointId: 0 };

/** Reads the partial index of failing and disabled webhooks. */
function findInState(
  db: Db,
  state: 'failing' | 'disabled',
  { accountId, after = first, limit }: TroubleFilter,
): AliasableExpression<{ account_id: number; id: number }> {
  return db
    .selectFrom('webhook_endpoints as w')
    .select(['w.account_id', 'w.id'])
    .$call(webhooks =>
      state === 'disabled'
        ? webhooks.where('w.disabled_at', 'is not', null)
        : webhooks.where('w.failing_since', 'is not', null).where('w.disabled_at', 'is', null),
    )
    .$if(accountId !== undefined, webhooks => webhooks.where('w.account_id', '=', accountId ?? 0))
    .where(w => w(w.refTuple('w.account_id', 'w.id'), '>', w.tuple(after.accountId, after.endpointId)))
    .orderBy('w.account_id')
    .orderBy('w.id')
    .limit(limit + 1);
}

/**
 * Finds the webhooks with dead deliveries, which the server no longer sends. Each step of the recursion jumps to the
 * next webhook in the index of dead deliveries, because one webhook may have very many of them.
 */
function findWithDeadDeliveries(
  db: Db,
  { accountId, after = first, limit }: TroubleFilter,
): AliasableExpression<{ account_id: number; id: number }> {
  const nextAfter = (account: Expression<number>, endpoint: Expression<number>) =>
    db
      .selectFrom('webhook_deliveries as d')
      .select(['d.account_id', 'd.endpoint_id as id'])
      .where('d.state', '=', 'dead')
      .$if(accountId !== undefined, dead => dead.where('d.account_id', '=', accountId ?? 0))
      .where(d => d(d.refTuple('d.account_id', 'd.endpoint_id'), '>', d.tuple(account, endpoint)))
      .orderBy('d.account_id')
      .orderBy('d.endpoint_id')
      .limit(1);
  const start = nextAfter(sql.val(after.accountId), sql.val(after.endpointId));
  return db
    .withRecursive('walked(account_id, id)', walk =>
      walk
        .selectFrom(start.as('start'))
        .select(['start.account_id', 'start.id'])
        .unionAll(
          walk
            .selectFrom('walked')
            .innerJoinLateral(
              walked => nextAfter(walked.ref('walked.account_id'), walked.ref('walked.id')).as('next'),
              join => join.onTrue(),
            )
            .select(['next.account_id', 'next.id']),
        ),
    )
    .selectFrom('walked')
    .select(['walked.account_id', 'walked.id'])
    .limit(limit + 1);
}

/**
 * Selects the deliveries to a webhook, whose SQL alias is `w`. The caller must sort the deliveries in the order of
 * their index, so that PostgreSQL uses the index.
 */
function deliveriesOf(w: ExpressionBuilder<Tables & { w: Tables['webhook_endpoints'] }, 'w'>, state: DeliveryState) {
  return w
    .selectFrom('webhook_deliveries as d')
    .where(d => d.between('d.account_id', d.ref('w.account_id'), d.ref('w.account_id')))
    .where(d => d.between('d.endpoint_id', d.ref('w.id'), d.ref('w.id')))
    .where('d.state', '=', state)
    .orderBy('d.account_id')
    .orderBy('d.endpoint_id');
}
