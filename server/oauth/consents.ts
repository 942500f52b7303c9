import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Interaction, Provider } from 'oidc-provider';
import type { Config } from '../config.ts';
import type { Administration } from '../domain/administration.ts';
import { type Consent, giveConsent, refuseConsent } from '../domain/oauth/grants.ts';
import { mcpUrlOf } from '../http/public-addresses.ts';
import { formTargetOf, shownTarget } from './client-metadata.ts';
import { toolScope } from './metadata.ts';

export interface ConsentRequest {
  id: string;
  clientId: string;
  /** The name that the client chose for itself. This name does not prove who the client is. */
  clientName: string | undefined;
  /** The host of the client's metadata document. This host proves who owns the client. */
  documentHost: string | undefined;
  /** The target of the redirect after the user has answered. */
  target: { host: string; isLocal: boolean; isWeb: boolean };
  /**
   * The source for form-action in the Content-Security-Policy of the consent page. This source allows the redirect to
   * the client.
   */
  formTarget: string;
  /** The URL that resumes the authorization request after the user has answered. */
  returnTo: string;
}

export type Consents = ReturnType<typeof consentsOf>;

type Answer = Pick<Consent, 'accountId' | 'userId' | 'boards' | 'clientName'>;

export function consentsOf({ config }: { config: Config }, providerOf: () => Promise<Provider>) {
  return {
    /**
     * Finds the authorization request for a consent page. Returns undefined if the request is unknown, answered,
     * expired or from another browser.
     */
    async find(request: FastifyRequest, reply: FastifyReply, id: string): Promise<ConsentRequest | undefined> {
      const provider = await providerOf();
      const interaction = await provider.interactionDetails(request.raw, reply.raw).catch(nothingIfNotFound);
      if (!interaction || interaction.uid !== id || interaction.result) return undefined;
      return requestOf(provider, interaction);
    },

    async give(admin: Administration, asked: ConsentRequest, answer: Answer) {
      const { userId } = answer;
      const provider = await providerOf();
      const grant = new provider.Grant({ accountId: String(userId), clientId: asked.clientId });
      grant.addOIDCScope(`${toolScope} offline_access`);
      grant.addResourceScope(mcpUrlOf(config), toolScope);
      const grantId = grant.generateTokenId();
      const { payload } = await grant.getValueAndPayload();
      const { jti: _, ...grantPayload } = payload;
      const result = { login: { accountId: String(userId), remember: false }, consent: { grantId } };
      const consent = { ...answer, interactionId: asked.id, grantId, grantPayload, result };
      await giveConsent(admin, consent, config.PLANS_WITHOUT_AGENT_API);
    },

    async refuse(admin: Administration, asked: ConsentRequest, by: { accountId: number | null; userId: number }) {
      const result = { error: 'access_denied', error_description: 'the user refused' };
      await refuseConsent(admin, { ...by, interactionId: asked.id, clientId: asked.clientId, result });
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

/**
 * Ignores the error if the client's metadata document has disappeared or changed. oidc-provider would also refuse an
 * answer for such a client.
 */
function nothingIfUnknown(error: Error): undefined {
  if (error.name !== 'InvalidClient' && error.name !== 'InvalidClientMetadata') throw error;
  return undefined;
}

/** Ignores the error if the request's cookie is missing or the authorization request has expired. */
function nothingIfNotFound(error: Error): undefined {
  if (error.name !== 'SessionNotFound') throw error;
  return undefined;
}
