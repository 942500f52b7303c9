import { defaultOverlapHours, maxOverlapHours, maxPendingCounted } from '../../../contract/limits.ts';
import type { ServerDependencies } from '../../dependencies.ts';
import type { Administration } from '../../domain/administration.ts';
import { listBoardNames } from '../../domain/boards/list-boards.ts';
import { buildSecretBox } from '../../domain/secret-box.ts';
import { storedReason } from '../../domain/webhooks/disabled-reason.ts';
import {
  createWebhook,
  deleteWebhook,
  disableWebhook,
  enableWebhook,
  requireWebhook,
  rotateWebhookSecret,
  updateWebhook,
} from '../../domain/webhooks/edit-webhook.ts';
import { listWebhookPage, readWebhook, type WebhookListing } from '../../domain/webhooks/list-webhooks.ts';
import { sendTestEvent } from '../../domain/webhooks/queue-deliveries.ts';
import { buildAddressGuard } from '../../outgoing/address-guard.ts';
import { newFormId, type Problem, requireFirst } from '../../pages/shell/form.ts';
import type { Route, Visit } from '../../pages/shell/visit.ts';
import { t, textKeysIn } from '../../text/catalogue.ts';
import { boardOptions, chosenBoard } from '../shell/choices.ts';
import { emptyForm, formOf, presentWebhook, readForm, shownForm, shownUrl } from './present-webhook.ts';

/** The number of webhooks on a page, so that the page loads quickly on a phone. */
const webhooksPerPage = 20;

const notices = textKeysIn('webhooks.notices');

/** The pages for the webhooks of an account: the list, a new webhook, a webhook's settings and its secret. */
export function webhookRoutes(server: ServerDependencies): Route[] {
  const secretBox = buildSecretBox(server.appKey);
  const guard = buildAddressGuard(server.config.WEBHOOK_ALLOWED_CIDRS);
  const path = '/admin/webhooks/:id';

  return [
    { path: '/admin/webhooks', show: showList, run: addWebhook },
    { path, show: showWebhook, run: saveWebhook },
    { path: `${path}/test`, run: testWebhook },
    { path: `${path}/rotate-secret`, show: showRotation, run: rotateSecret },
    { path: `${path}/enable`, run: visit => change(visit, enableWebhook, pathOf(visit, { notice: 'enabled' })) },
    {
      path: `${path}/disable`,
      ask: async visit => ({
        heading: t('shell.questions.disable_html', { name: presentWebhook(await read(visit)).name }),
        explanation: t('webhooks.disable.explanation'),
        button: t('webhooks.disable.button'),
        back: { label: t('webhooks.disable.keep'), href: pathOf(visit) },
      }),
      run: visit => {
        const disable: WebhookOperation = (admin, endpoint) =>
          disableWebhook(admin, endpoint, storedReason('administrator'));
        return change(visit, disable, pathOf(visit, { notice: 'disabled' }));
      },
    },
    {
      path: `${path}/delete`,
      ask: async visit => ({
        heading: t('shell.questions.delete_html', { name: presentWebhook(await read(visit)).name }),
        explanation: t('webhooks.delete.explanation'),
        button: t('webhooks.delete.button'),
        back: { label: t('webhooks.delete.keep'), href: pathOf(visit) },
      }),
      run: visit => change(visit, deleteWebhook, visit.path('/admin/webhooks', { notice: 'deleted' })),
    },
  ];

  async function addWebhook(visit: Visit) {
    const { account } = visit;
    const { secret, listing } = await visit.administer(async admin => {
      await requireFirst(admin, visit.request.body);
      const { board: slug, ...input } = readForm(visit);
      const boardId = slug === '' ? null : chosenBoard(await listBoardNames(admin, account.id), slug).id;
      const made = await createWebhook(admin, secretBox, { ...input, accountId: account.id, boardId }, guard);
      return { secret: made.secret, listing: await readWebhook(admin, account.id, made.endpoint.id) };
    });
    return showSecret(visit, t('webhooks.secret.title_of_new_webhook'), listing, secret, 201);
  }

  function saveWebhook(visit: Visit) {
    const { url, description, eventTypes } = readForm(visit);
    const save: WebhookOperation = (admin, endpoint) => {
      // The form shows the normalized URL. If the user leaves this URL unchanged, the server keeps the original URL and
      // does not check it again.
      const changes = { description, eventTypes, ...(url === shownUrl(endpoint.url) ? {} : { url }) };
      return updateWebhook(admin, endpoint, changes, guard);
    };
    return change(visit, save, pathOf(visit, { notice: 'saved' }));
  }

  async function rotateSecret(visit: Visit) {
    const hours = visit.field('overlap_hours');
    const { secret, listing } = await visit.administer(async admin => {
      await requireFirst(admin, visit.request.body);
      const endpoint = await requireWebhook(admin, visit.account.id, visit.id());
      const made = await rotateWebhookSecret(admin, secretBox, endpoint, /^\d+$/.test(hours) ? Number(hours) : -1);
      return { secret: made, listing: await readWebhook(admin, visit.account.id, visit.id(), 0) };
    });
    return showSecret(visit, t('webhooks.secret.title_of_new_secret'), listing, secret);
  }
}

async function testWebhook(visit: Visit) {
  const id = visit.id();
  const deliveryId = await visit.administer(admin => sendTestEvent(admin, visit.account.id, id));
  return visit.path(`/admin/webhooks/${id}/deliveries/${deliveryId}`, { notice: 'tested' });
}

type WebhookOperation = (
  admin: Administration,
  endpoint: Awaited<ReturnType<typeof requireWebhook>>,
) => Promise<unknown>;

async function change(visit: Visit, operation: WebhookOperation, path: string) {
  await visit.administer(async admin => operation(admin, await requireWebhook(admin, visit.account.id, visit.id())));
  return path;
}

function pathOf(visit: Visit, parameters?: { notice: keyof typeof notices }): string {
  return visit.path(`/admin/webhooks/${visit.id()}`, parameters);
}

function read(visit: Visit): Promise<WebhookListing> {
  return visit.administer(admin => readWebhook(admin, visit.account.id, visit.id(), maxPendingCounted));
}

async function showList(visit: Visit, problem?: Problem) {
  const before = visit.number('before');
  const { webhooks, boards } = await visit.administer(async admin => ({
    webhooks: await listWebhookPage(admin, visit.account.id, { before, limit: webhooksPerPage }),
    boards: await listBoardNames(admin, visit.account.id),
  }));
  const given = problem ? readForm(visit) : emptyForm;
  const data = {
    webhooks: webhooks.rows.map(presentWebhook),
    ...visit.pageLinks('/admin/webhooks', 'before', webhooks.hasMore && webhooks.rows.at(-1)?.id),
    form: shownForm(given),
    boards: [{ value: '', label: t('webhooks.new.every_board') }, ...boardOptions(boards, given.board)],
    formId: newFormId(),
  };
  return visit.page('webhooks/list', t('shell.labels.webhooks'), data, { notices, problem });
}

async function showWebhook(visit: Visit, problem?: Problem) {
  const listing = await read(visit);
  const data = {
    webhook: presentWebhook(listing),
    form: shownForm(problem ? readForm(visit) : formOf(listing)),
  };
  return visit.page('webhooks/webhook', t('webhooks.webhook.title'), data, { notices, problem });
}

async function showRotation(visit: Visit, problem?: Problem) {
  const data = {
    webhook: presentWebhook(await read(visit)),
    hours: problem ? visit.field('overlap_hours') : String(defaultOverlapHours),
    maxHours: maxOverlapHours,
    formId: newFormId(),
  };
  return visit.page('webhooks/rotate-secret', t('webhooks.rotation.title'), data, { problem });
}

/** Shows the webhook's secret in the answer to the POST. No later page shows the secret. */
function showSecret(visit: Visit, title: string, listing: WebhookListing, secret: string, status = 200) {
  return visit.page('webhooks/secret', title, { title, webhook: presentWebhook(listing), secret }, { status });
}
