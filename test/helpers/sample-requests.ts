import type { OperationId } from '../../contract/index.ts';
import type { RequestOptions } from './request.ts';

export interface SampleIds {
  ideaId: number;
  /** A second idea, into which the first is merged. */
  targetId: number;
  tagId: number;
}

export interface SampleRequest extends Pick<RequestOptions, 'json'> {
  line: string;
}

/** A valid request for every operation of the contract; a new operation does not compile until it has one. */
export function sampleRequests({ ideaId, targetId, tagId }: SampleIds): Record<OperationId, SampleRequest> {
  const idea = `/api/v1/ideas/${ideaId}`;
  return {
    getBoard: { line: 'GET /api/v1/board' },
    listIdeas: { line: 'GET /api/v1/ideas' },
    getIdea: { line: `GET ${idea}` },
    createIdea: { line: 'POST /api/v1/ideas', json: { title: 'Dark mode', body: 'For late evenings.' } },
    voteIdea: { line: `POST ${idea}/vote`, json: { value: 'up' } },
    commentOnIdea: { line: `POST ${idea}/comments`, json: { body: 'A comment.' } },
    listComments: { line: `GET ${idea}/comments` },
    setIdeaStatus: { line: `POST ${idea}/status`, json: { status: 'planned' } },
    addIdeaTag: { line: `POST ${idea}/tags`, json: { tag_id: tagId } },
    removeIdeaTag: { line: `DELETE ${idea}/tags/${tagId}` },
    mergeIdea: { line: `POST ${idea}/merge`, json: { target_id: targetId } },
    unmergeIdea: { line: `POST ${idea}/unmerge` },
    getToken: { line: 'GET /api/v1/token' },
    getHealth: { line: 'GET /health' },
    getReadiness: { line: 'GET /ready' },
  };
}
