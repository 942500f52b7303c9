import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { listBoardNames } from '../../domain/boards/list-boards.ts';
import { buildSecretBox } from '../../domain/secret-box.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { createWebhook } from '../../domain/webhooks/create-webhook.ts';
import { requireWebhook } from '../../domain/webhooks/find-webhook.ts';
import { listWebhookPage, mostPendingCounted, readWebhook } from '../../domain/webhooks/list-webhooks.ts';
import { updateWebhook } from '../../domain/webhooks/update-webhook.ts';
import { buildAddressGuard } from '../../outgoing/address-guard.ts';
import { definePage, type Link, sendPage } from '../../pages/shell/page.ts';
import { type BoardChoice, boardChoices, chosenBoard } from '../shell/choices.ts';
import { idIn, newFormId, noticeIn, numberIn, problemOf, requireFirst } from '../shell/form.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import { administer, nameAccount, pathIn, requireAdminAccount, requireSession } from '../shell/session.ts';
import { shownName } from '../shell/show.ts';
import { presentWebhook, type ShownWebhook, shownUrl } from './present-webhook.ts';
import { sendSecretPage } from './secret-page.ts';
import {
  emptyWebhook,
  type GivenWebhook,
  givenOf,
  readWebhookForm,
  type WebhookForm,
  webhookForm,
} from './webhook-form.ts';

interface Words {
  notice?: string | undefined;
  problem?: string | undefined;
}

interface ListData extends Words {
  accountName: string;
  webhooks: ShownWebhook[];
  first: Link | undefined;
  next: Link | undefined;
  createPath: string;
  form: WebhookForm;
  boards: BoardChoice[];
  formToken: string;
  formId: string;
}

interface WebhookData extends Words {
  webhook: ShownWebhook;
  form: WebhookForm;
  listPath: string;
  formToken: string;
}

const listPage = definePage<ListData>('admin/webhooks/list');
const webhookPage = definePage<WebhookData>('admin/webhooks/webhook');

/** So many fit a page that is quick on a phone. */
const webhooksPerPage = 20;

/** The webhooks of an account: all of them, a new one, and what is set of one. */
export function serveWebhooks(app: FastifyInstance, server: ServerDependencies) {
  const secretBox = buildSecretBox(server.appKey);
  const guard = buildAddressGuard(server.config.WEBHOOK_ALLOWED_CIDRS);
  const onRequest = [requireSession, nameAccount];

  app.get('/admin/webhooks', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    return showList(request, reply, account, { notice: noticeIn(request, { deleted: 'The webhook is deleted.' }) });
  });

  // As with a token, the page with the secret answers the POST itself: it is in this answer and nowhere else.
  app.post('/admin/webhooks', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const given = readWebhookForm(request.body);
    try {
      const { secret, listing } = await administer(server, request, async admin => {
        await requireFirst(admin, request.body);
        const { board: slug, ...input } = given;
        const boardId = slug === '' ? null : chosenBoard(await listBoardNames(admin, account.id), slug).id;
        const made = await createWebhook(admin, secretBox, { ...input, accountId: account.id, boardId }, guard);
        return { secret: made.secret, listing: await readWebhook(admin, account.id, made.endpoint.id) };
      });
      const webhook = presentWebhook(request, account, listing);
      return sendSecretPage(request, reply, account, { title: 'The new webhook', webhook, secret }, 201);
    } catch (error) {
      const { status, message: problem } = problemOf(error);
      return showList(request, reply, account, { given, problem }, status);
    }
  });

  app.get('/admin/webhooks/:id', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const notice = noticeIn(request, {
      saved: 'It is saved. What is on its way goes to the URL that is set now.',
      disabled: 'Nothing more is sent to it.',
      enabled: 'Events are sent to it again. What was given up meanwhile can be sent again from its deliveries.',
    });
    return showWebhook(request, reply, account, { notice });
  });

  app.post('/admin/webhooks/:id', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const id = idIn(request);
    const given = readWebhookForm(request.body);
    try {
      await administer(server, request, async admin => {
        const endpoint = await requireWebhook(admin, account.id, id);
        const { url, description, eventTypes } = given;
        // A URL that is left as it was shown stays as it was entered, and is not checked anew.
        const changes = { description, eventTypes, ...(url === shownUrl(endpoint.url) ? {} : { url }) };
        await updateWebhook(admin, endpoint, changes, guard);
      });
    } catch (error) {
      const { status, message: problem } = problemOf(error);
      return showWebhook(request, reply, account, { given, problem }, status);
    }
    return reply.redirect(pathIn(request, account, `/admin/webhooks/${id}`, { notice: 'saved' }), 303);
  });

  async function showList(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    { given = emptyWebhook, ...words }: Words & { given?: GivenWebhook },
    status = 200,
  ) {
    const before = numberIn(request, 'before');
    const { webhooks, boards } = await administer(server, request, async admin => ({
      webhooks: await listWebhookPage(admin, account.id, { before, limit: webhooksPerPage }),
      boards: await listBoardNames(admin, account.id),
    }));
    const list = pathIn(request, account, '/admin/webhooks');
    const last = webhooks.rows.at(-1);
    const data: ListData = {
      accountName: shownName(account.name),
      webhooks: webhooks.rows.map(webhook => presentWebhook(request, account, webhook)),
      first: before === undefined ? undefined : { label: 'Back to the newest', href: list },
      next:
        webhooks.hasMore && last
          ? { label: 'More webhooks', href: pathIn(request, account, '/admin/webhooks', { before: String(last.id) }) }
          : undefined,
      createPath: list,
      form: webhookForm(given),
      boards: boardChoices(boards, given.board),
      formToken: formTokenOf(request),
      formId: newFormId(),
      ...words,
    };
    return sendPage(reply, listPage(frameOf(request, account, 'Webhooks'), data), status);
  }

  async function showWebhook(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    { given, ...words }: Words & { given?: GivenWebhook },
    status = 200,
  ) {
    const id = idIn(request);
    const listing = await administer(server, request, admin => readWebhook(admin, account.id, id, mostPendingCounted));
    const data: WebhookData = {
      webhook: presentWebhook(request, account, listing),
      form: webhookForm(given ?? givenOf(listing)),
      listPath: pathIn(request, account, '/admin/webhooks'),
      formToken: formTokenOf(request),
      ...words,
    };
    return sendPage(reply, webhookPage(frameOf(request, account, 'Webhook'), data), status);
  }
}
