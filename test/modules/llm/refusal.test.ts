import { type LLM, type Message, ModelLimited, ModelRefused } from 'agent-host'
import { expect } from 'chai'
import anthropic from '../../../modules/llm/anthropic.ts'
import bedrock from '../../../modules/llm/bedrock.ts'
import google from '../../../modules/llm/google.ts'
import ollama from '../../../modules/llm/ollama.ts'
import openai from '../../../modules/llm/openai.ts'
import openaiCompatible from '../../../modules/llm/openai-compatible.ts'
import { collect } from '../../suites/llm-suite.ts'
import { connectsVendor, type VendorCase } from '../../suites/vendor-suite.ts'
import { type Answer, sends } from '../../support/fake-model-server.ts'
import { says } from '../../support/fake-run.ts'
import { chatWire } from '../../support/model-wires.ts'

const refuses =
  (status: number, body: object): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }

const vendor = (reference: string, module: VendorCase['module'], path: string, more: object = {}): VendorCase => ({
  reference,
  module,
  wire: chatWire(),
  config: (url) => ({ base_url: `${url}${path}`, api_key: 'key-of-the-test', ...more }),
  environment: {},
})
const VENDORS = {
  openai: vendor('llm/openai', openai, '/v1'),
  chat: vendor('llm/openai', openai, '/v1', { api: 'chat' }),
  compatible: vendor('llm/openai-compatible', openaiCompatible, '/v1'),
  ollama: vendor('llm/ollama', ollama, ''),
  anthropic: vendor('llm/anthropic', anthropic, '/v1'),
  google: vendor('llm/google', google, '/v1beta'),
  bedrock: vendor('llm/bedrock', bedrock, ''),
}

const ofOpenAI = (message: string, code: string | null = null) => ({
  error: { message, type: 'invalid_request_error', code },
})
const ofAnthropic = (message: string, type = 'invalid_request_error') => ({ type: 'error', error: { type, message } })
const ofGoogle = (message: string, code = 400) => ({ error: { code, message, status: 'INVALID_ARGUMENT' } })

type Refused = [vendor: keyof typeof VENDORS, status: number, body: object]

const TOO_LONG: readonly Refused[] = [
  ['openai', 400, ofOpenAI('Your input exceeds the context window of this model.', 'context_length_exceeded')],
  ['chat', 400, ofOpenAI("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.")],
  ['compatible', 400, ofOpenAI('The decoder prompt (length 9000) is longer than the maximum model length of 8192.')],
  ['compatible', 400, ofOpenAI('the request exceeds the available context size (4096 tokens), try increasing it')],
  [
    'compatible',
    400,
    { object: 'error', message: 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length' },
  ],
  [
    'compatible',
    413,
    ofOpenAI('Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 9000'),
  ],
  ['compatible', 400, ofOpenAI('Please reduce the length of the messages or completion.', 'context_length_exceeded')],
  ['compatible', 400, ofOpenAI("This model's maximum prompt length is 131072 but the request contains 537812 tokens.")],
  ['ollama', 400, ofOpenAI('prompt too long; exceeded max context length by 12 tokens')],
  ['ollama', 500, ofOpenAI('the input length exceeds the context length')],
  ['anthropic', 400, ofAnthropic('prompt is too long: 210000 tokens > 200000 maximum')],
  ['anthropic', 400, ofAnthropic('input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000')],
  ['anthropic', 413, ofAnthropic('Request exceeds the maximum size', 'request_too_large')],
  ['google', 400, ofGoogle('The input token count (1234567) exceeds the maximum number of tokens allowed (1048576).')],
  ['bedrock', 400, { message: 'Input is too long for requested model.' }],
]

const NO_QUOTA: readonly Refused[] = [
  ['openai', 429, ofOpenAI('You exceeded your current quota', 'insufficient_quota')],
  ['chat', 429, ofOpenAI('You exceeded your current quota', 'insufficient_quota')],
  ['compatible', 402, ofOpenAI('Insufficient Balance')],
  ['compatible', 429, { error: { type: 'exceeded_current_quota_error', message: 'Your account is suspended' } }],
  ['anthropic', 400, ofAnthropic('Your credit balance is too low to access the Anthropic API.')],
]

const KEYS: readonly Refused[] = [
  ['openai', 401, ofOpenAI('Incorrect API key provided', 'invalid_api_key')],
  ['compatible', 400, ofOpenAI('Incorrect API key provided: ke**st')],
  ['anthropic', 401, ofAnthropic('invalid x-api-key', 'authentication_error')],
  ['google', 400, ofGoogle('API key not valid. Please pass a valid API key.')],
  ['bedrock', 403, { message: 'The security token included in the request is invalid.' }],
]

const address = new URL('https://example.com/a.pdf')
const pdf = { mediaType: 'application/pdf', data: Uint8Array.from([1]) }
const image = { mediaType: 'image/png', data: Uint8Array.from([1]) }

const failureOf = (llm: LLM, messages: readonly Message[] = [says('hi')]) =>
  collect(llm, { messages }).then(
    () => undefined,
    (error: unknown) => error,
  )

describe('refusals of vendors that a client can act on', () => {
  const connects = Object.fromEntries(
    Object.entries(VENDORS).map(([name, each]) => [name, connectsVendor(each)]),
  ) as unknown as Record<keyof typeof VENDORS, ReturnType<typeof connectsVendor>>

  const refusalOf = async ([name, status, body]: Refused) => {
    const { server, llm } = await connects[name]([refuses(status, body)], { max_retries: 2 })
    return { error: await failureOf(llm), requests: server.requests.length }
  }

  for (const [index, refused] of TOO_LONG.entries()) {
    it(`tells a conversation that is too long, in the words of ${refused[0]} (${index + 1})`, async () => {
      const { error } = await refusalOf(refused)
      expect(error).to.be.instanceOf(ModelRefused).with.property('reason', 'context_length_exceeded')
    })
  }

  for (const [index, refused] of NO_QUOTA.entries()) {
    it(`tells a spent quota, in the words of ${refused[0]} (${index + 1}), and does not ask again`, async () => {
      const { error, requests } = await refusalOf(refused)
      expect(error).to.be.instanceOf(ModelRefused).with.property('reason', 'insufficient_quota')
      expect(requests).to.equal(1)
    })
  }

  it('tells both in the middle of a stream', async () => {
    for (const code of ['context_length_exceeded', 'insufficient_quota']) {
      const { llm } = await connects.compatible([sends({ error: { message: 'No.', code } })])
      expect(await failureOf(llm))
        .to.be.instanceOf(ModelRefused)
        .with.property('reason', code)
    }
  })

  it('takes neither a rate, nor an option, for it', async () => {
    const rate: Refused = ['google', 429, ofGoogle('You exceeded your current quota, please check your plan', 429)]
    const { llm } = await connects.google([refuses(rate[1], rate[2])], { max_retries: 0 })
    expect(await failureOf(llm)).to.be.instanceOf(ModelLimited)
    for (const message of [
      'max_tokens is too large: 99999. This model supports at most 16384.',
      'This would exceed it.',
    ]) {
      const { error } = await refusalOf(['compatible', 400, ofOpenAI(message)])
      expect(error).not.to.be.instanceOf(ModelRefused)
    }
  })

  for (const [index, refused] of KEYS.entries()) {
    it(`names where a refused key comes from, with ${refused[0]} (${index + 1})`, async () => {
      const { error } = await refusalOf(refused)
      expect(error).not.to.be.instanceOf(ModelRefused)
      expect(String(error)).to.match(/The key (comes from \w+|is api_key in the config of module)/)
      expect(String(error)).not.to.contain('key-of-the-test')
    })
  }

  it('names the attachment that a model does not take', async () => {
    const attachments = [image, { ...pdf, data: address }]
    const { llm } = await connects.compatible([])
    expect(await failureOf(llm, [{ role: 'user', content: 'see', attachments }])).to.include({
      reason: 'attachment_not_taken',
      attachment: attachments[1],
      index: 1,
    })
    const byAddress = await connects.anthropic([])
    const audio = { mediaType: 'image/png', data: new URL('ftp://example.com/a.png') }
    expect(await failureOf(byAddress.llm, [{ role: 'user', content: 'see', attachments: [audio] }])).to.include({
      reason: 'attachment_not_taken',
      index: 0,
    })
  })

  for (const [name, status, body] of [
    ['compatible', 400, ofOpenAI('Invalid content type. image_url is only supported by certain models.')],
    ['compatible', 404, ofOpenAI('No endpoints found that support image input: not supported')],
    ['compatible', 422, ofOpenAI('unknown variant `image_url`, expected `text`')],
    ['google', 400, ofGoogle('Unsupported MIME type: image/png')],
    ['ollama', 500, ofOpenAI('this model is missing data required for image input')],
    ['bedrock', 400, { message: "This model doesn't support the image content block that you provided." }],
  ] as const satisfies readonly Refused[]) {
    it(`reads that from the answer of ${name} (${status})`, async () => {
      const { llm } = await connects[name]([refuses(status, body)], { max_retries: 0 })
      const question: Message = { role: 'user', content: 'see', attachments: [image] }
      const error = await failureOf(llm, [question, { role: 'assistant', content: 'Hm.' }, says('more')])
      expect(error).to.include({ reason: 'attachment_not_taken', index: undefined })
      expect(await failureOf(llm, [question])).to.include({ reason: 'attachment_not_taken', index: 0 })
    })
  }
})
