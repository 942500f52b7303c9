import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { buildSecretBox } from '../../domain/secret-box.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { deleteWebhook } from '../../domain/webhooks/delete-webhook.ts';
import { disableWebhook } from '../../domain/webhooks/disable-webhook.ts';
import { enableWebhook } from '../../domain/webhooks/enable-webhook.ts';
import { requireWebhook } from '../../domain/webhooks/find-webhook.ts';
import { mostPendingCounted, readWebhook } from '../../domain/webhooks/list-webhooks.ts';
import {
  defaultOverlapHours,
  maxOverlapHours,
  rotateWebhookSecret,
} from '../../domain/webhooks/rotate-webhook-secret.ts';
import { sendTestEvent } from '../../domain/webhooks/send-test-event.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { fieldOf, idIn, newFormId, problemOf, requireFirst } from '../shell/form.ts';
import { askFor, formTokenOf, frameOf } from '../shell/frame.ts';
import { administer, nameAccount, pathIn, requireAdminAccount, requireSession } from '../shell/session.ts';
import { presentWebhook, type ShownWebhook } from './present-webhook.ts';
import { sendSecretPage } from './secret-page.ts';

interface RotateData {
  webhook: ShownWebhook;
  hours: string;
  maxHours: number;
  formToken: string;
  formId: string;
  problem?: string | undefined;
}

const rotatePage = definePage<RotateData>('admin/webhooks/rotate-secret');

/** For those who find it disabled. */
const disabledReason = 'Disabled by an administrator';

/** What is done with a webhook: a test, another secret, disabling, enabling, deleting. */
export function serveWebhookActions(app: FastifyInstance, server: ServerDependencies) {
  const secretBox = buildSecretBox(server.appKey);
  const onRequest = [requireSession, nameAccount];

  app.post('/admin/webhooks/:id/test', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const id = idIn(request);
    const deliveryId = await administer(server, request, admin => sendTestEvent(admin, account.id, id));
    const path = `/admin/webhooks/${id}/deliveries/${deliveryId}`;
    return reply.redirect(pathIn(request, account, path, { notice: 'tested' }), 303);
  });

  app.get('/admin/webhooks/:id/rotate-secret', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    return showRotate(request, reply, account, { hours: String(defaultOverlapHours) });
  });

  app.post('/admin/webhooks/:id/rotate-secret', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const id = idIn(request);
    const hours = fieldOf(request.body, 'overlap_hours');
    try {
      const { secret, listing } = await administer(server, request, async admin => {
        await requireFirst(admin, request.body);
        const endpoint = await requireWebhook(admin, account.id, id);
        const made = await rotateWebhookSecret(admin, secretBox, endpoint, /^\d+$/.test(hours) ? Number(hours) : -1);
        return { secret: made, listing: await readWebhook(admin, account.id, id, 0) };
      });
      const webhook = presentWebhook(request, account, listing);
      return sendSecretPage(request, reply, account, { title: 'The new secret', webhook, secret });
    } catch (error) {
      const { status, message: problem } = problemOf(error);
      return showRotate(request, reply, account, { hours, problem }, status);
    }
  });

  app.get('/admin/webhooks/:id/disable', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const webhook = await read(request, account);
    return askFor(request, reply, account, {
      title: 'Disable a webhook',
      verb: 'Disable',
      name: webhook.name,
      explanation:
        'Nothing more is sent to it, and what is on its way is given up. It can be enabled again, and what was given up can then be sent again.',
      action: webhook.disablePath,
      button: 'Disable the webhook',
      isDangerous: true,
      back: { label: 'Leave it', href: webhook.path },
    });
  });

  app.post('/admin/webhooks/:id/disable', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const id = idIn(request);
    await administer(server, request, async admin =>
      disableWebhook(admin, await requireWebhook(admin, account.id, id), disabledReason),
    );
    return reply.redirect(pathIn(request, account, `/admin/webhooks/${id}`, { notice: 'disabled' }), 303);
  });

  app.post('/admin/webhooks/:id/enable', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const id = idIn(request);
    await administer(server, request, async admin => enableWebhook(admin, await requireWebhook(admin, account.id, id)));
    return reply.redirect(pathIn(request, account, `/admin/webhooks/${id}`, { notice: 'enabled' }), 303);
  });

  app.get('/admin/webhooks/:id/delete', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const webhook = await read(request, account);
    return askFor(request, reply, account, {
      title: 'Delete a webhook',
      verb: 'Delete',
      name: webhook.name,
      explanation:
        'Nothing more is sent to it, and the log of its deliveries is deleted with it. This cannot be undone.',
      action: webhook.deletePath,
      button: 'Delete the webhook',
      isDangerous: true,
      back: { label: 'Keep it', href: webhook.path },
    });
  });

  app.post('/admin/webhooks/:id/delete', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    await administer(server, request, async admin =>
      deleteWebhook(admin, await requireWebhook(admin, account.id, idIn(request))),
    );
    return reply.redirect(pathIn(request, account, '/admin/webhooks', { notice: 'deleted' }), 303);
  });

  async function read(request: FastifyRequest, account: AccountOfUser): Promise<ShownWebhook> {
    const id = idIn(request);
    const listing = await administer(server, request, admin => readWebhook(admin, account.id, id, mostPendingCounted));
    return presentWebhook(request, account, listing);
  }

  async function showRotate(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    { hours, problem }: Pick<RotateData, 'hours' | 'problem'>,
    status = 200,
  ) {
    const webhook = await read(request, account);
    const data: RotateData = {
      webhook,
      hours,
      problem,
      maxHours: maxOverlapHours,
      formToken: formTokenOf(request),
      formId: newFormId(),
    };
    return sendPage(reply, rotatePage(frameOf(request, account, 'Rotate the secret'), data), status);
  }
}
