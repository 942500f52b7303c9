import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import type { Administration } from '../../domain/administration.ts';
import { listBoardNames } from '../../domain/boards/list-boards.ts';
import { buildSecretBox } from '../../domain/secret-box.ts';
import { createWebhook } from '../../domain/webhooks/create-webhook.ts';
import { deleteWebhook } from '../../domain/webhooks/delete-webhook.ts';
import { disableWebhook } from '../../domain/webhooks/disable-webhook.ts';
import { enableWebhook } from '../../domain/webhooks/enable-webhook.ts';
import { requireWebhook } from '../../domain/webhooks/find-webhook.ts';
import {
  listWebhookPage,
  mostPendingCounted,
  readWebhook,
  type WebhookListing,
} from '../../domain/webhooks/list-webhooks.ts';
import {
  defaultOverlapHours,
  maxOverlapHours,
  rotateWebhookSecret,
} from '../../domain/webhooks/rotate-webhook-secret.ts';
import { sendTestEvent } from '../../domain/webhooks/send-test-event.ts';
import { updateWebhook } from '../../domain/webhooks/update-webhook.ts';
import { buildAddressGuard } from '../../outgoing/address-guard.ts';
import { definePage } from '../../pages/shell/page.ts';
import { boardChoices, chosenBoard } from '../shell/choices.ts';
import { newFormId, type Problem, requireFirst } from '../shell/form.ts';
import { requireAdminAccount } from '../shell/session.ts';
import { shownName } from '../shell/show.ts';
import { pageLinks, serveRoutes, type Visit } from '../shell/visit.ts';
import { emptyForm, formOf, presentWebhook, readForm, shownForm, shownUrl } from './present-webhook.ts';

const listPage = definePage<object>('admin/webhooks/list');
const webhookPage = definePage<object>('admin/webhooks/webhook');
const rotatePage = definePage<object>('admin/webhooks/rotate-secret');
const secretPage = definePage<object>('admin/webhooks/secret', { hasCopyButtons: true });

/** So many fit a page that is quick on a phone. */
const webhooksPerPage = 20;

const listNotices = { deleted: 'The webhook is deleted.' };
const notices = {
  saved: 'It is saved. What is on its way goes to the URL that is set now.',
  disabled: 'Nothing more is sent to it.',
  enabled: 'Events are sent to it again. What was given up meanwhile can be sent again from its deliveries.',
};

/** The reason that the page of a disabled webhook shows. */
const disabledReason = 'Disabled by an administrator';

/** The webhooks of an account: the list, a new webhook, the settings of a webhook, and its secret. */
export function serveWebhooks(app: FastifyInstance, server: ServerDependencies) {
  const secretBox = buildSecretBox(server.appKey);
  const guard = buildAddressGuard(server.config.WEBHOOK_ALLOWED_CIDRS);

  serveRoutes(app, server, requireAdminAccount, [
    { path: '/admin/webhooks', show: showList, run: addWebhook },
    { path: '/admin/webhooks/:id', show: showWebhook, run: saveWebhook },
    { path: '/admin/webhooks/:id/test', run: testWebhook },
    { path: '/admin/webhooks/:id/rotate-secret', show: showRotation, run: rotateSecret },
    {
      path: '/admin/webhooks/:id/enable',
      run: async visit => {
        await change(visit, enableWebhook);
        return pathOf(visit, { notice: 'enabled' });
      },
    },
    {
      path: '/admin/webhooks/:id/disable',
      ask: async visit => ({
        title: 'Disable a webhook',
        verb: 'Disable',
        name: presentWebhook(visit, await read(visit)).name,
        explanation:
          'Nothing more is sent to it, and what is on its way is given up. It can be enabled again, and what was given up can then be sent again.',
        button: 'Disable the webhook',
        isDangerous: true,
        back: { label: 'Leave it', href: pathOf(visit) },
      }),
      run: async visit => {
        await change(visit, (admin, endpoint) => disableWebhook(admin, endpoint, disabledReason));
        return pathOf(visit, { notice: 'disabled' });
      },
    },
    {
      path: '/admin/webhooks/:id/delete',
      ask: async visit => ({
        title: 'Delete a webhook',
        verb: 'Delete',
        name: presentWebhook(visit, await read(visit)).name,
        explanation:
          'Nothing more is sent to it, and the log of its deliveries is deleted with it. This cannot be undone.',
        button: 'Delete the webhook',
        isDangerous: true,
        back: { label: 'Keep it', href: pathOf(visit) },
      }),
      run: async visit => {
        await change(visit, deleteWebhook);
        return visit.path('/admin/webhooks', { notice: 'deleted' });
      },
    },
  ]);

  async function addWebhook(visit: Visit) {
    const { account } = visit;
    const { secret, listing } = await visit.administer(async admin => {
      await requireFirst(admin, visit.request.body);
      const { board: slug, ...input } = readForm(visit);
      const boardId = slug === '' ? null : chosenBoard(await listBoardNames(admin, account.id), slug).id;
      const made = await createWebhook(admin, secretBox, { ...input, accountId: account.id, boardId }, guard);
      return { secret: made.secret, listing: await readWebhook(admin, account.id, made.endpoint.id) };
    });
    return showSecret(visit, 'The new webhook', listing, secret, 201);
  }

  async function saveWebhook(visit: Visit) {
    await change(visit, async (admin, endpoint) => {
      const { url, description, eventTypes } = readForm(visit);
      // The form shows the URL normalized. A URL that was not changed there stays as it was entered, and is not checked.
      const changes = { description, eventTypes, ...(url === shownUrl(endpoint.url) ? {} : { url }) };
      await updateWebhook(admin, endpoint, changes, guard);
    });
    return pathOf(visit, { notice: 'saved' });
  }

  async function rotateSecret(visit: Visit) {
    const hours = visit.field('overlap_hours');
    const { secret, listing } = await visit.administer(async admin => {
      await requireFirst(admin, visit.request.body);
      const endpoint = await requireWebhook(admin, visit.account.id, visit.id());
      const made = await rotateWebhookSecret(admin, secretBox, endpoint, /^\d+$/.test(hours) ? Number(hours) : -1);
      return { secret: made, listing: await readWebhook(admin, visit.account.id, visit.id(), 0) };
    });
    return showSecret(visit, 'The new secret', listing, secret);
  }
}

async function testWebhook(visit: Visit) {
  const id = visit.id();
  const deliveryId = await visit.administer(admin => sendTestEvent(admin, visit.account.id, id));
  return visit.path(`/admin/webhooks/${id}/deliveries/${deliveryId}`, { notice: 'tested' });
}

function change(
  visit: Visit,
  operation: (admin: Administration, endpoint: Awaited<ReturnType<typeof requireWebhook>>) => Promise<void>,
) {
  return visit.administer(async admin => operation(admin, await requireWebhook(admin, visit.account.id, visit.id())));
}

function pathOf(visit: Visit, parameters?: { notice: keyof typeof notices }): string {
  return visit.path(`/admin/webhooks/${visit.id()}`, parameters);
}

function read(visit: Visit): Promise<WebhookListing> {
  return visit.administer(admin => readWebhook(admin, visit.account.id, visit.id(), mostPendingCounted));
}

async function showList(visit: Visit, problem?: Problem) {
  const before = visit.number('before');
  const { webhooks, boards } = await visit.administer(async admin => ({
    webhooks: await listWebhookPage(admin, visit.account.id, { before, limit: webhooksPerPage }),
    boards: await listBoardNames(admin, visit.account.id),
  }));
  const last = webhooks.hasMore ? webhooks.rows.at(-1) : undefined;
  const given = problem ? readForm(visit) : emptyForm;
  const data = {
    accountName: shownName(visit.account.name),
    webhooks: webhooks.rows.map(webhook => presentWebhook(visit, webhook)),
    ...pageLinks(parameters => visit.path('/admin/webhooks', parameters), {
      first: before !== undefined && 'Back to the newest',
      next: last && ['More webhooks', { before: String(last.id) }],
    }),
    createPath: visit.path('/admin/webhooks'),
    form: shownForm(given),
    boards: boardChoices(boards, given.board),
    formId: newFormId(),
  };
  return visit.page(listPage, 'Webhooks', data, { notices: listNotices, problem });
}

async function showWebhook(visit: Visit, problem?: Problem) {
  const listing = await read(visit);
  const data = {
    webhook: presentWebhook(visit, listing),
    form: shownForm(problem ? readForm(visit) : formOf(listing)),
    listPath: visit.path('/admin/webhooks'),
  };
  return visit.page(webhookPage, 'Webhook', data, { notices, problem });
}

async function showRotation(visit: Visit, problem?: Problem) {
  const data = {
    webhook: presentWebhook(visit, await read(visit)),
    hours: problem ? visit.field('overlap_hours') : String(defaultOverlapHours),
    maxHours: maxOverlapHours,
    formId: newFormId(),
  };
  return visit.page(rotatePage, 'Rotate the secret', data, { problem });
}

/** As with a token, this page answers the POST itself: the secret is in this answer and nowhere else. */
function showSecret(visit: Visit, title: string, listing: WebhookListing, secret: string, status = 200) {
  return visit.page(secretPage, title, { title, webhook: presentWebhook(visit, listing), secret }, { status });
}
