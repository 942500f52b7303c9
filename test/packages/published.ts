import { findPublishedFolders } from '../../scripts/release/repository.ts';
import { repository } from '../client/packed.ts';

/** The folders of the packages that are published together. */
export const publishedFolders = findPublishedFolders(repository);
