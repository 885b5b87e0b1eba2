import { expect } from 'chai'
import { CLIPBOARD, readClipboard } from '../../support/browser.ts'
import { DebugUi, see } from '../../support/debug-ui.ts'
import { eventually } from '../../support/eventually.ts'
import { chat } from '../../support/server.ts'

const SEER = `id: seer
modules:
  - id: llm
    module: llm/mock
    config:
      replies:
        - { text: There it is., reasoning: Where could it be, usage: { model: gpt-4.1, input_tokens: 1000000, output_tokens: 7 } }
  - { id: near, module: place, config: { name: near } }
  - { id: loop, module: orchestrator/tool-loop, config: { system_prompt: Be kind. } }`

const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const PAINTER = `id: painter
modules:
  - id: llm
    module: llm/mock
    config: { replies: [{ tool_calls: [{ name: draw, arguments: { what: a dot } }] }, Look.] }
  - { id: brush, module: brush }
  - { id: loop, module: orchestrator/tool-loop }`
const BRUSH = `import { defineModule, ToolProvider } from 'agent-host'
const data = Uint8Array.from(atob('${DOT}'), (char) => char.charCodeAt(0))
export default defineModule({ name: 'Brush', provides: [ToolProvider], create: () => ({
  listTools: () => [{ name: 'draw', description: 'Draws', parameters: { type: 'object' } }],
  executeTool: () => ({ text: 'Drawn.', attachments: [{ mediaType: 'image/png', data }] }) }) })`

const MARKDOWN = `# Title

- [x] sent
- **bold** and *soft*, ~~old~~

2. \`a<b\` &copy; &lt;i&gt; <i>as it is</i>

| order | sum |
| --- | --: |
| A1 | 7 |

> quoted\\*

\`\`\`json
{"a": 1}
\`\`\`
<https://a.test> [worse](javascript:alert(1)) ![far](https://b.test/x.png) ![near](data:image/png;base64,AAAA)
***
line
broken`

describe('the page of a run', () => {
  const ui = DebugUi.forSuite()

  it('shows Markdown as elements: what is no picture of the answer itself loads nothing, and HTML is text', async () => {
    const page = await ui.open(`#/runs/${await ui.complete('echo', MARKDOWN)}?view=conversation`)
    const shown = page.locator('.message.assistant .markdown')
    await shown.getByText('Title').waitFor()
    const html = await shown.evaluate((place) => place.innerHTML)
    const [before = '', code = ''] = html.split(/<div class="code-head">.*?<\/div>/)
    expect(before).equal(
      '<h1>Title</h1><ul><li><span class="task-box" role="img" aria-label="done">☑</span> sent</li>' +
        '<li><strong>bold</strong> and <em>soft</em>, <del>old</del></li></ul>' +
        '<ol start="2"><li><code>a&lt;b</code> © &lt;i&gt; &lt;i&gt;as it is&lt;/i&gt;</li></ol>' +
        '<table><thead><tr><th>order</th><th align="right">sum</th></tr></thead>' +
        '<tbody><tr><td>A1</td><td align="right">7</td></tr></tbody></table><blockquote><p>quoted*</p></blockquote>',
    )
    expect(code.replace(/<\/?span[^>]*>/g, '')).equal(
      '<pre class="code" tabindex="0"><code>{"a": 1}</code></pre>' +
        '<p><a href="https://a.test" target="_blank" rel="noreferrer noopener">https://a.test</a> worse ' +
        '<a href="https://b.test/x.png" target="_blank" rel="noreferrer noopener">far</a> ' +
        '<img src="data:image/png;base64,AAAA" alt="near"></p><hr><p>line<br>broken</p>',
    )
  })

  it('shows JSON at the end of an answer as JSON, without headings and emphasis', async () => {
    const said = JSON.stringify({ title: '*Returns*', text: '# One\n\n# Two', of: ['a'] }, null, 2)
    const page = await ui.open(`#/runs/${await ui.complete('echo', `**Found**: ${said}`)}?view=conversation`)
    const shown = page.locator('.message.assistant .markdown')
    await shown.locator('strong').getByText('Found').waitFor()
    expect(await shown.locator('pre').innerText()).equal(said)
    expect(await shown.locator('h1, h2, em, li').count()).equal(0)
  })

  it('shows the prompt of a model call: roles, tools, parameters, reasoning, tokens, cost, and a command for its vendor', async () => {
    await ui.project.write('agents/seer.yml', SEER)
    await eventually(() => expect(ui.server.host.get('seer')?.id).equal('seer'))
    const payload = chat('seer', 'Where is my pen?', { temperature: 0.3 })
    const { id } = (await ui.server.app.inject({ method: 'POST', url: '/compat/chat/completions', payload })).json()
    const run = id.replace('chatcmpl-', '')
    const page = await ui.open(`#/runs/${run}`, { permissions: CLIPBOARD })
    // The last call of a model is selected by itself.
    const panel = page.getByRole('complementary', { name: 'Selected call' })
    await panel.getByText('1,000,000 → 7 tokens').waitFor()
    await panel.getByText('$2.00').waitFor()
    const prompt = panel.locator('.exchange')
    await prompt.getByText('Where is my pen?').waitFor()
    await prompt.getByText('There it is.').waitFor()
    // What is long or seldom read is folded, and shows how it begins.
    await prompt.locator('summary', { hasText: 'System' }).getByText('Be kind.').waitFor()
    const reasoning = prompt.locator('details', { hasText: 'Reasoning' })
    expect(await reasoning.getAttribute('open')).equal(null)
    await prompt.locator('summary', { hasText: 'Tools offered' }).getByText('look_near').waitFor()
    await panel.getByRole('tab', { name: 'Answer' }).click()
    await panel.getByText('There it is.').waitFor()
    expect(await panel.getByText('Where is my pen?').count()).equal(0)
    await panel.getByRole('tab', { name: 'Context' }).click()
    await panel.getByText('1,000,000 of 1,047,576 tokens · 95 % full').waitFor()
    // Each part has a colour of its own.
    const colours = await page.evaluate<string[]>(BAR_COLOURS)
    expect(colours.length).greaterThan(1)
    expect(new Set(colours).size).to.equal(colours.length)
    expect(await panel.getByRole('rowheader').allInnerTexts()).deep.equal(['System', 'User', 'Tools offered'])
    // Of the client: the agent itself names none.
    await panel.getByRole('tab', { name: 'Parameters' }).click()
    expect(await panel.locator('.json-children').innerText()).match(/^temperature:\s*0\.3$/)
    await panel.getByRole('button', { name: 'Copy as curl' }).click()
    await eventually(async () => expect(await readClipboard(page)).match(/^curl [\s\S]*Where is my pen/))
    await panel.getByRole('link', { name: 'Open in playground' }).click()
    const message = page.getByLabel('Message to seer')
    await message.waitFor()
    expect(await message.inputValue()).equal('Where is my pen?')
  })

  it('shows the conversation: earlier turns, tools with arguments, result and time, and pictures in and out', async () => {
    await ui.project.write('modules/brush.ts', BRUSH)
    await ui.project.write('agents/painter.yml', PAINTER)
    await eventually(() => expect(ui.server.host.get('painter')?.id).equal('painter'))
    const image_url = `data:image/png;base64,${DOT}`
    const content = [
      { type: 'input_text', text: 'Like this' },
      { type: 'input_image', image_url },
    ]
    const payload = {
      model: 'painter',
      input: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Good day' },
        { role: 'user', content },
      ],
    }
    const { id } = (await ui.server.app.inject({ method: 'POST', url: '/compat/responses', payload })).json()
    const page = await ui.open(`#/runs/${id.replace('resp_', '')}?view=conversation`)
    const said = page.getByRole('log', { name: 'What the user saw' })
    await said.getByText('draw(a dot)').waitFor()
    expect(await said.getByRole('article').allInnerTexts()).deep.equal([
      'User\n\nHello',
      'Agent\n\nGood day',
      'User\n\nLike this',
      'Agent\n\nLook.',
    ])
    // The picture of the user, and that of the tool.
    expect(await said.locator('img').evaluateAll((all) => all.map(({ src }) => src))).deep.equal([image_url, image_url])
    await said.getByText('draw(a dot)').click()
    await said.getByText('Drawn.').waitFor()
    await said.getByRole('button', { name: 'Show in the trace' }).click()
    await page.getByRole('complementary', { name: 'Selected call' }).getByText('draw(a dot)').waitFor()
  })

  it('plays a run again in the graph of its agent, to any moment', async () => {
    const run = await ui.complete('finder', 'keys')
    const page = await ui.open(`#/runs/${run}?view=graph`)
    const far = page.getByRole('button', { name: /^far place/ })
    // At its end, with the number of calls on each module.
    await page.getByRole('button', { name: /^near place ×1 \d/ }).waitFor()
    await page.getByRole('button', { name: /^far place ✕ ×1 \d/ }).waitFor()
    await page.getByLabel('Moment of the run').fill('0')
    await eventually(async () => expect((await far.textContent())?.trim()).equal('far place'))
    // Without motion it goes on in steps.
    await page.getByRole('button', { name: 'Play' }).click()
    await page.getByRole('button', { name: /^far place ✕ ×1/ }).waitFor()
    await page.getByRole('button', { name: 'Play' }).waitFor()
    await far.click()
    await page.getByRole('complementary', { name: 'Module far' }).waitFor()
  })

  it('lights the graph of an agent up while a run flows through it', async () => {
    const page = await ui.open('#/agents/finder', { reducedMotion: 'no-preference' })
    await page.locator('.node.module').first().waitFor()
    expect(await page.locator('.flow-bar').count()).equal(0)
    const answered = ui.complete('finder', 'slow keys')
    await page.locator('.node.module[data-state="active"]', { hasText: 'planner' }).waitFor()
    await page.locator('.flow-bar').getByText('live').waitFor()
    await page.getByRole('link', { name: 'View the run' }).click()
    await page.getByRole('button', { name: 'Stop' }).click()
    await answered
  })

  it('filters the tree, folds repetitions and branches, and navigates by keyboard', async () => {
    const run = await ui.complete('finder', '30 calls')
    const page = await ui.open(`#/runs/${run}?all=1&call=none`)
    const rows = page.getByRole('treeitem')
    await rows.first().waitFor()
    // The tree has the focus.
    await page.keyboard.press('ArrowDown')
    await eventually(async () => expect(await rows.first().getAttribute('aria-selected')).equal('true'))
    await page.keyboard.press('ArrowLeft')
    await eventually(async () => expect(await rows.count()).equal(1))
    await page.keyboard.press('ArrowRight')
    await eventually(async () => expect(await rows.count()).greaterThan(10))
    await page.keyboard.press('/')
    await page.keyboard.type('respondtext')
    await eventually(async () => expect(await rows.count()).equal(2))
    await page.getByLabel('Filter calls').fill('nothing of the kind')
    await see(page, 'No matching calls.')
  })

  it('links to the previous and next run, and copies itself as an issue report', async () => {
    const first = await ui.complete('finder', 'keys')
    await ui.complete('echo', 'in between')
    await ui.complete('finder', 'fail')
    const page = await ui.open(`#/runs/${first}`, { permissions: CLIPBOARD })
    await page.getByRole('button', { name: 'Next run' }).click()
    await see(page, 'The planner gave up')
    await page.getByRole('button', { name: 'Copy report' }).click()
    const report = await eventually(async () => {
      const text = await readClipboard(page)
      expect(text).contain('### finder: ')
      return text
    })
    expect(report).contain('The planner gave up').contain('> fail').contain('✕ planner.handleText')
    await page.keyboard.press('[')
    await see(page, 'I looked for keys')
  })

  it('stops a run, whoever started it', async () => {
    const answered = ui.complete('finder', 'slow keys')
    const page = await ui.open('#/runs')
    await page.getByRole('list', { name: 'Runs' }).getByRole('link').first().click()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.locator('.run-head').getByText('cancelled').waitFor()
    await answered
  })
})

const BAR_COLOURS =
  "[...document.querySelectorAll('.context-bar > span')].map((part) => getComputedStyle(part).backgroundColor)"
