import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Interaction, Provider } from 'oidc-provider';
import type { Config } from '../config.ts';
import type { Administration } from '../domain/administration.ts';
import { type Consent, giveConsent, refuseConsent } from '../domain/oauth/grants.ts';
import { mcpUrlOf } from '../http/public-addresses.ts';
import { formTargetOf, shownTarget } from './client-metadata.ts';
import { toolScope } from './metadata.ts';

/** What a client asks somebody for. */
export interface ConsentRequest {
  id: string;
  clientId: string;
  /** What the client calls itself, if it does: anybody can choose a name. */
  clientName: string | undefined;
  /** Whose client it is, where it is known by a document: nobody else can put one there. */
  documentHost: string | undefined;
  /** Where the answer goes. */
  target: { host: string; isLocal: boolean; isWeb: boolean };
  /** What the page has to allow for the browser to go there. */
  formTarget: string;
  /** Where the browser goes when the request is answered. */
  returnTo: string;
}

/** The requests that await consent, for the page that asks for it. */
export interface Consents {
  /** Undefined when there is none, it is answered or over, or was begun in another browser. */
  find(request: FastifyRequest, reply: FastifyReply, id: string): Promise<ConsentRequest | undefined>;
  give(
    admin: Administration,
    asked: ConsentRequest,
    answer: Pick<Consent, 'accountId' | 'userId' | 'boards' | 'clientName'>,
  ): Promise<void>;
  refuse(admin: Administration, asked: ConsentRequest, by: { accountId: number | null; userId: number }): Promise<void>;
}

export function consentsOf({ config }: { config: Config }, providerOf: () => Promise<Provider>): Consents {
  return {
    async find(request, reply, id) {
      const provider = await providerOf();
      const interaction = await provider.interactionDetails(request.raw, reply.raw).catch(nothingIfNotFound);
      if (!interaction || interaction.uid !== id || interaction.result) return undefined;
      return requestOf(provider, interaction);
    },

    async give(admin, asked, { accountId, userId, boards, clientName }) {
      const provider = await providerOf();
      const grant = new provider.Grant({ accountId: String(userId), clientId: asked.clientId });
      grant.addOIDCScope(`${toolScope} offline_access`);
      grant.addResourceScope(mcpUrlOf(config), toolScope);
      const grantId = grant.generateTokenId();
      const { payload } = await grant.getValueAndPayload();
      const { jti: _, ...grantPayload } = payload;
      const result = { login: { accountId: String(userId), remember: false }, consent: { grantId } };
      const interactionId = asked.id;
      const consent = { interactionId, clientName, accountId, userId, boards, grantId, grantPayload, result };
      await giveConsent(admin, consent, config.PLANS_WITHOUT_AGENT_API);
    },

    async refuse(admin, { id, clientId }, { accountId, userId }) {
      const result = { error: 'access_denied', error_description: 'the user refused' };
      await refuseConsent(admin, { interactionId: id, userId, accountId, clientId, result });
    },
  };
}

async function requestOf(provider: Provider, interaction: Interaction): Promise<ConsentRequest | undefined> {
  const { client_id: clientId, redirect_uri: redirectUri } = interaction.params;
  if (typeof clientId !== 'string' || typeof redirectUri !== 'string') return undefined;
  const client = await provider.Client.find(clientId).catch(nothingIfUnknown);
  if (!client) return undefined;
  return {
    id: interaction.uid,
    clientId,
    clientName: client.clientName,
    documentHost: clientId.startsWith('https://') ? new URL(clientId).host : undefined,
    target: shownTarget(redirectUri),
    formTarget: formTargetOf(redirectUri),
    returnTo: interaction.returnTo,
  };
}

/** Its document is not to be had any more, or is another one: going back to it with an answer would be refused as well. */
function nothingIfUnknown(error: Error): undefined {
  if (error.name !== 'InvalidClient' && error.name !== 'InvalidClientMetadata') throw error;
  return undefined;
}

/** The cookie is not there, or nothing is to be found by it. */
function nothingIfNotFound(error: Error): undefined {
  if (error.name !== 'SessionNotFound') throw error;
  return undefined;
}
