import type { Column } from '../responses/column.ts'
import type { AgentChoice, ToolChoice } from './play-query.ts'

const MAX_QUESTIONS = 3
/** Of agents with a model. */
const GENERAL = ['What can you do for me?', 'Show me an example of what you do.', 'What do you not do?']

interface FirstQuestionsProps {
  readonly agent: AgentChoice
  readonly columns: readonly Column[]
  readonly onChoose: (question: string) => void
}

/** Start of a thread: the agent's description, and suggested questions. */
export function FirstQuestions({ agent, columns, onChoose }: FirstQuestionsProps) {
  const names = columns.map(({ model }) => model).join(' and ')
  return (
    <div class="empty first-questions">
      <p class="empty-title">Ask {names}</p>
      <p>{agent.description || 'The answer is stored, and continues when you leave this page.'}</p>
      <ul aria-label="Questions to try">
        {questionsFor(agent).map((question) => (
          <li key={question}>
            <button type="button" class="button" onClick={() => onChoose(question)}>
              {question}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Examples of the agent file, otherwise questions based on the tools that the agent listed, or on its modules with tools. */
function questionsFor({ examples, modules }: AgentChoice): readonly string[] {
  if (examples.length > 0) return examples
  const providers = modules.filter(({ provides }) => provides?.includes('ToolProvider'))
  const tools = providers.flatMap(({ tools: listed }) => listed ?? [])
  const asked = tools.length > 0 ? tools.map(questionForTool) : providers.map(({ id }) => `What can you do with ${id}?`)
  const hasModel = modules.some(({ provides }) => provides?.includes('LLM'))
  const general = hasModel ? GENERAL : ['Hello']
  return [...asked.slice(0, MAX_QUESTIONS - 1), ...general].slice(0, MAX_QUESTIONS)
}

/** `Can you find an order? The id is A1.` */
function questionForTool({ name, description, parameters }: ToolChoice): string {
  const { properties = {}, required = Object.keys(properties) } = parameters ?? {}
  const values = required.map((field) => `the ${field.replaceAll('_', ' ')} is ${exampleOf(properties[field] ?? {})}`)
  const told = values.join(' and ')
  return `Can you ${wishOf(description) || `use ${name}`}?${told && ` ${told[0]?.toUpperCase()}${told.slice(1)}.`}`
}

/** First sentence of a description, in the words of a person: `Finds an order.` becomes `find an order`. */
function wishOf(description: string): string {
  const [sentence = ''] = description.split(/[.:;(\n]/, 1)
  const [verb = '', ...rest] = sentence.trim().split(' ')
  if (verb === '' || rest.length === 0) return ''
  const plain = verb
    .toLowerCase()
    .replace(/ies$/, 'y')
    .replace(/(ch|sh|ss|x|z)es$/, '$1')
    .replace(/([^s])s$/, '$1')
  return [plain, ...rest].join(' ')
}

function exampleOf({ examples, default: preset, enum: options, type }: Readonly<Record<string, unknown>>): string {
  const [example] = [...listOf(examples), preset, ...listOf(options)].filter((value) => value !== undefined)
  if (example !== undefined) return typeof example === 'string' ? example : JSON.stringify(example)
  return type === 'number' || type === 'integer' ? '1' : '…'
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
