import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { AdministrationError } from '../../domain/administration.ts';
import { connectIdentity, disconnectIdentity } from '../../domain/identities/connect-identity.ts';
import { buildConnectionTokens } from '../../domain/identities/connection-tokens.ts';
import { listOwnIdentities, type OwnIdentity } from '../../domain/identities/list-identities.ts';
import { hasOwnAddress } from '../../domain/identities/own-address.ts';
import { describeConnection } from '../../domain/identities/providers.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import type { Problem } from '../../pages/shell/form.ts';
import { Refusal } from '../../pages/shell/refusal.ts';
import { accountAround, requireOrdinarySession, requireOwnSession, requireSession } from '../../pages/shell/session.ts';
import { shownAddress, shownName, showTime } from '../../pages/shell/show.ts';
import { type Route, serveRoutes } from '../../pages/shell/visit.ts';
import { safeNextPath } from '../../pages/sign-in/next-path.ts';
import { t, textKeysIn } from '../../text/catalogue.ts';
import { type OwnVisit, ownNavigation } from './profile-page.ts';

const path = '/admin/profile/connections';

const notices = textKeysIn('identities.connections.notices');

/**
 * Serves the page of a user's external identities. An external identity is a person at a sign-in provider, or in an
 * application that embeds boards. Another page asks the user to confirm the connection of a new identity.
 */
export function serveConnections(app: FastifyInstance, server: ServerDependencies) {
  const { appKey, clock, database } = server;
  const tokens = buildConnectionTokens(appKey);

  const own: Route<AccountOfUser | undefined>[] = [
    { path, show: showConnections },
    { path: `${path}/:account/:id/disconnect`, ask: askToDisconnect, run: disconnect },
  ];
  serveRoutes(app, server, accountAround, own, [requireSession, requireOwnSession]);
  const ordinary: Route<AccountOfUser | undefined>[] = [{ path: `${path}/connect`, show: showQuestion, run: connect }];
  serveRoutes(app, server, accountAround, ordinary, [requireSession, requireOrdinarySession]);

  async function showQuestion(visit: OwnVisit, problem?: Problem) {
    const { connection, described, token, next } = await requireConnection(visit);
    const data = {
      token,
      next,
      name: nameOf(described.provider),
      account: shownName(described.account_name),
      email: shownAddress(visit.user.email),
      isEmbedded: connection.providerId === null,
      back: visit.path(path),
    };
    return visit.page('profile/connect', t('identities.connect.title', { name: data.name }), data, { problem });
  }

  async function connect(visit: OwnVisit) {
    const { connection, described, next } = await requireConnection(visit);
    const isAdmitted = described.admits_everybody ?? false;
    await visit.administer(admin => connectIdentity(admin, connection, { isAdmitted }));
    return next === '' ? visit.path(path, { notice: 'connected' }) : safeNextPath(next);
  }

  async function requireConnection(visit: OwnVisit) {
    const fieldOf = (name: string) => (visit.isSent ? visit.field(name) : visit.parameter(name));
    const [token, next] = [fieldOf('token'), fieldOf('next')];
    const connection = tokens.read(token, clock.now());
    const described = connection && (await describeConnection(database, connection));
    if (!connection || !described) throw expired();
    if (connection.userId === visit.user.id) return { connection, described, token, next };
    throw new Refusal(403, t('identities.connect.other_title'), t('identities.connect.other_user'));
  }
}

function expired() {
  return new Refusal(404, t('identities.connect.expired_title'), t('identities.connect.expired'));
}

async function showConnections(visit: OwnVisit) {
  const identities = await listOwnIdentities(visit.server.database, visit.user.id);
  const mayDisconnect = hasOwnAddress(visit.user);
  const data = {
    navigation: ownNavigation(visit, path),
    identities: identities.map(one => ({
      name: nameOf(one.provider),
      account: shownName(one.account),
      address: one.address === null ? undefined : shownAddress(one.address),
      used: showTime(new Date(one.last_used_at)),
      disconnectPath: mayDisconnect ? visit.path(`${path}/${one.account_id}/${one.id}/disconnect`) : undefined,
    })),
  };
  return visit.page('profile/connections', t('identities.connections.title'), data, { notices });
}

async function askToDisconnect(visit: OwnVisit) {
  const identity = await requireIdentity(visit);
  return {
    heading: t('identities.disconnect.heading_html', { name: nameOf(identity.provider) }),
    explanation: t('identities.disconnect.explanation', { account: shownName(identity.account) }),
    button: t('identities.disconnect.button'),
    back: { label: t('identities.disconnect.back'), href: visit.path(path) },
  };
}

async function disconnect(visit: OwnVisit) {
  const { account_id: accountId, id: identityId } = await requireIdentity(visit);
  await visit.administer(admin => disconnectIdentity(admin, { accountId, identityId, userId: visit.user.id }));
  return visit.path(path, { notice: 'disconnected' });
}

async function requireIdentity(visit: OwnVisit): Promise<OwnIdentity> {
  const [accountId, id] = [visit.id('account'), visit.id()];
  const identities = await listOwnIdentities(visit.server.database, visit.user.id);
  const identity = identities.find(one => one.account_id === accountId && one.id === id);
  if (!identity) throw new AdministrationError('not_found', t('identities.connections.gone'));
  return identity;
}

/**
 * Returns the name of an external identity's provider. An identity without a provider comes from the application that
 * embeds the boards. For such an identity, the function returns a text about that application.
 */
function nameOf(provider: string | null): string {
  return provider === null ? t('identities.connections.embedding') : shownName(provider);
}
