import { defineModule, Embedder, type Run, type Static, Type } from 'agent-host'
import { type Endpoint, requestVectors } from './lib/request-vectors.ts'

const Config = Type.Object({
  base_url: Type.String({
    minLength: 1,
    default: 'https://api.openai.com/v1',
    description: 'Address of the API with its version.',
  }),
  model: Type.String({
    minLength: 1,
    default: 'text-embedding-3-small',
    description: 'Name of the model in the API.',
  }),
  api_key: Type.Optional(
    Type.String({ description: 'Sent as bearer credentials. Best taken from the environment: ${OPENAI_API_KEY}' }),
  ),
  headers: Type.Record(Type.String(), Type.String(), {
    default: {},
    description: 'Additional headers of every request.',
  }),
  dimensions: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Length of the vectors, if the model lets you choose.' }),
  ),
  batch_size: Type.Integer({ minimum: 1, maximum: 2048, default: 128, description: 'Texts in one request.' }),
  max_retries: Type.Integer({
    minimum: 0,
    maximum: 10,
    default: 2,
    description: 'Retries after a temporary failure (408, 409, 429, 5xx, no connection).',
  }),
  timeout: Type.Number({
    exclusiveMinimum: 0,
    maximum: 86_400,
    default: 60,
    description: 'Maximum seconds of one request.',
  }),
})

export default defineModule({
  name: 'OpenAIEmbedder',
  description: 'Vectors from a model behind an OpenAI-style embeddings endpoint.',
  provides: [Embedder],
  scope: 'agent',
  config: Config,
  create: (_, config) => {
    const endpoint = endpointOf(config)
    return {
      async embed(texts, run: Run) {
        const vectors: Float32Array[] = []
        for (let begin = 0; begin < texts.length; begin += config.batch_size) {
          vectors.push(...(await requestVectors(endpoint, texts.slice(begin, begin + config.batch_size), run)))
        }
        return vectors
      },
    }
  },
})

function endpointOf(config: Static<typeof Config>): Endpoint {
  const { base_url, model, api_key, headers, dimensions, max_retries, timeout } = config
  return {
    url: `${base_url.replace(/\/+$/, '')}/embeddings`,
    // An empty key, as from `${MY_KEY:-}`, counts as none.
    headers: {
      'content-type': 'application/json',
      ...(api_key ? { authorization: `Bearer ${api_key}` } : {}),
      ...headers,
    },
    body: { model, encoding_format: 'float', dimensions },
    subject: `The model '${model}' at ${base_url}`,
    secrets: [api_key ?? '', ...Object.values(headers)].filter((secret) => secret.length >= 8),
    maxRetries: max_retries,
    timeoutSeconds: timeout,
  }
}
