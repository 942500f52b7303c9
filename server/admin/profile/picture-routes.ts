import multipart, { type MultipartFile } from '@fastify/multipart';
import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { convertPicture, maxUploadBytes, picturePathOf, setPicture } from '../../domain/pictures/pictures.ts';
import { FormProblem, type Problem } from '../../pages/shell/form.ts';
import { accountAround, requireOwnSession, requireSession } from '../../pages/shell/session.ts';
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

/** Serves the page where people upload or remove their pictures. No other page accepts files. */
export async function servePicturePage(app: FastifyInstance, server: ServerDependencies) {
  await app.register(multipart, {
    attachFieldsToBody: 'keyValues',
    onFile: keepFile,
    throwFileSizeLimit: false,
    limits: { fileSize: maxUploadBytes, files: 1, fields: 5, fieldSize: 1_000, parts: 6 },
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
    await chargeForm(server, visit, 'uploads', [['picture:user', String(userId), uploadsPerHour, 3_600]]);
    const content = await convertPicture(fileIn(visit.request.body));
    await visit.administer(admin => setPicture(admin, userId, content));
    return visit.path(path, { notice: 'saved' });
  }
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
