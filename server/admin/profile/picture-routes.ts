import { finished } from 'node:stream';
import multipart, { type MultipartFile } from '@fastify/multipart';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { convertPicture, maxUploadBytes, picturePathOf, setPicture } from '../../domain/pictures/pictures.ts';
import { FormProblem, ownProblemOf, type Problem } from '../../pages/shell/form.ts';
import { Refusal } from '../../pages/shell/refusal.ts';
import { accountAround, requireOwnSession, requireSession, sessionOf } from '../../pages/shell/session.ts';
import { chargeForm } from '../../pages/shell/throttle-forms.ts';
import { serveRoutes } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';
import { type OwnVisit, ownNavigation } from './profile-page.ts';

const path = '/admin/profile/picture';

/**
 * The number of pictures that a person may upload in an hour. The server limits uploads, because it needs about a tenth
 * of a second to convert a picture.
 */
const uploadsPerHour = 20;

/** The number of files of one person that may arrive at the same time. The server keeps each file in memory. */
const maxParallelUploads = 2;

/** Serves the page where people upload or remove their pictures. No other page accepts files. */
export async function servePicturePage(app: FastifyInstance, server: ServerDependencies) {
  // The hook of the plugin reads the body, so it must come after the first and before the last of these hooks.
  const reading = new WeakSet<FastifyRequest>();
  app.addHook('preValidation', admitUploads(server));
  app.addHook('preValidation', async request => void reading.add(request));
  await app.register(multipart, {
    attachFieldsToBody: 'keyValues',
    onFile: keepFile,
    throwFileSizeLimit: false,
    limits: { fileSize: maxUploadBytes, files: 1, fields: 5, fieldSize: 1_000, parts: 6 },
  });
  app.addHook('preValidation', async request => void reading.delete(request));
  // The plugin cannot read some bodies, such as a body without an end or with two files.
  app.setErrorHandler((error, request) => {
    if (!reading.has(request)) throw error;
    throw new Refusal(422, t('shell.errors.refused.title'), `${t('picture.unreadable')}.`, linkToPage());
  });
  serveRoutes(
    app,
    server,
    accountAround,
    [{ path, show: showPicture, run: savePicture }],
    [requireSession, requireOwnSession],
  );

  async function savePicture(visit: OwnVisit) {
    const userId = visit.user.id;
    if (visit.field('remove') !== '') {
      await visit.administer(admin => setPicture(admin, userId, null));
      return visit.path(path, { notice: 'removed' });
    }
    const content = await convertPicture(fileIn(visit.request.body));
    await visit.administer(admin => setPicture(admin, userId, content));
    return visit.path(path, { notice: 'saved' });
  }
}

/**
 * Builds the hook that counts an upload against the rate limit of the person. Refuses the upload before the server reads
 * the file if the person has uploaded too many files, or uploads other files at the same time.
 */
function admitUploads(server: ServerDependencies) {
  const unfinished = new Map<number, number>();

  return async (request: FastifyRequest, reply: FastifyReply) => {
    if (!request.isMultipart()) return;
    const { id } = sessionOf(request).user;
    const others = unfinished.get(id) ?? 0;
    if (others >= maxParallelUploads) {
      throw refusalOf(`${t('shell.too_many.uploads')}. ${t('shell.try_again.minutes', { count: 1 })}`);
    }
    unfinished.set(id, others + 1);
    finished(reply.raw, () => {
      const left = (unfinished.get(id) ?? 0) - 1;
      if (left > 0) unfinished.set(id, left);
      else unfinished.delete(id);
    });
    try {
      await chargeForm(server, { request, reply }, 'uploads', [['picture:user', String(id), uploadsPerHour, 3_600]]);
    } catch (error) {
      throw refusalOf(ownProblemOf(error).message);
    }
  };
}

function refusalOf(message: string): Refusal {
  return new Refusal(429, t('shell.errors.too_many_requests.title'), `${message}.`, linkToPage());
}

function linkToPage() {
  return { label: t('picture.heading'), href: path };
}

/**
 * This symbol replaces the content of an uploaded file that is longer than the size limit. The server has read only the
 * beginning of this file.
 */
const tooLarge = Symbol('too large');

async function keepFile(this: unknown, part: MultipartFile) {
  const content = await part.toBuffer();
  Object.assign(part, { value: part.file.truncated ? tooLarge : content });
}

function fileIn(body: unknown): Buffer {
  const file: unknown = (body as { picture?: unknown } | null)?.picture;
  if (file === tooLarge) throw new FormProblem(413, t('picture.too_large', { count: maxUploadBytes / 1024 / 1024 }));
  if (!Buffer.isBuffer(file) || file.length === 0) throw new FormProblem(422, t('picture.missing'));
  return file;
}

async function showPicture(visit: OwnVisit, problem?: Problem) {
  const picture = await picturePathOf(visit.server.database, visit.user.id);
  const data = { navigation: ownNavigation(visit, '/admin/profile'), picture };
  return visit.page('profile/picture', t('picture.heading'), data, { notices, problem });
}

const notices = { saved: 'picture.saved', removed: 'picture.removed' } as const;
