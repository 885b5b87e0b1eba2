import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { linkConcepts, type Token } from '../../docs/.vitepress/link-concepts.ts'
import { llmsFullText, llmsText } from '../../docs/.vitepress/llms-text.ts'
import { sidebar } from '../../docs/.vitepress/sidebar.ts'
import { runNode } from '../support/run-cli.ts'

const ROOT = new URL('../../', import.meta.url)
const read = (file: string) => readFileSync(new URL(file, ROOT), 'utf8')
const pages = ['', 'clients/', 'decisions/'].flatMap((folder) =>
  readdirSync(new URL(`docs/${folder}`, ROOT))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${folder}${name}`),
)
const texts = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...pages]

/** Anchors of the headings of a page, as GitHub and VitePress make them. */
function anchorsOf(markdown: string): string[] {
  const prose = markdown.replaceAll(/^```.*?^```/gms, '')
  return [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-'),
  )
}

/** Targets of the links of a page that stay in the repository. */
function linksOf(file: string): string[] {
  const prose = read(file).replaceAll(/^```.*?^```/gms, '')
  const targets = [...prose.matchAll(/\]\(([^)\s]+)[^)]*\)/g)].map(([, target = '']) => target)
  return targets.filter((target) => !/^[a-z]+:/.test(target))
}

/** Pictures of a page that have a light theme, as paths of the repository. */
function linksOfImages(file: string): [page: string, image: string][] {
  const targets = [...read(file).matchAll(/!\[[^\]]*\]\(([^)]+-light\.\w+)\)/g)].map(([, target = '']) => target)
  return targets.map((target) => [file, new URL(target, new URL(file, ROOT)).href.slice(ROOT.href.length)])
}

function isBroken(file: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? new URL(file, ROOT) : new URL(path, new URL(file, ROOT))
  if (!existsSync(target)) return true
  return anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).includes(anchor)
}

const make = (type: string): Token => ({ type, content: '' })
const textOf = (content: string): Token => ({ type: 'text', content })

/** Prose after the concepts in it are links: `[word](anchor)`. */
function linked(...tokens: Token[]): string {
  linkConcepts(tokens, make)
  const show = ({ type, content, attrs }: Token) =>
    type === 'link_open' ? `[${attrs?.[0]?.[1] ?? ''}|` : type === 'link_close' ? ']' : content
  return tokens
    .flatMap(({ children }) => children ?? [])
    .map(show)
    .join('')
}

describe('the links to concepts', () => {
  it('are where prose first names a concept, not in headings, code and other links', () => {
    const inline = (...children: Token[]): Token => ({ type: 'inline', content: '', children })
    const link = [make('link_open'), textOf('modules'), make('link_close')]
    expect(
      linked(
        make('heading_open'),
        inline(textOf('Agents. ')),
        inline({ type: 'code_inline', content: 'agent ' }, ...link, textOf(' of an agent. Agents run a run. ')),
        inline(textOf('A module')),
      ),
    ).equal(
      'Agents. agent [|modules] of an [/concepts#agent|agent]. Agents run [/concepts#run|a run]. A [/concepts#module|module]',
    )
  })

  it('lead to a heading of the page, and each heading has one', () => {
    const names = anchorsOf(read('docs/concepts.md').replaceAll(/^## .*$/gm, '')).slice(1)
    const prose = names
      .map((anchor) => anchor.replace('-', ' '))
      .map((name) => `a ${name}, the ${name} ends.`)
      .join(' ')
    const found = linked({ type: 'inline', content: '', children: [textOf(prose)] })
    expect([...found.matchAll(/#([a-z-]+)\|/g)].map(([, anchor]) => anchor)).deep.equal(names)
  })
})

describe('the drawings of the docs', () => {
  it('are those of scripts/draw-pictures.js', async () => {
    const script = fileURLToPath(new URL('scripts/draw-pictures.js', ROOT))
    expect(await runNode([script, '--check'])).deep.equal({ exitCode: 0, stdout: '', stderr: '' })
  })

  it('exist for both themes', () => {
    const shown = texts.flatMap(linksOfImages)
    expect(shown.filter(([, path = '']) => !existsSync(new URL(path.replace('-light.', '-dark.'), ROOT)))).deep.equal(
      [],
    )
  })
})

describe('the pages of the docs', () => {
  it('have no broken links or anchors', () => {
    const broken = texts.flatMap((file) =>
      linksOf(file)
        .filter((link) => isBroken(file, link))
        .map((link) => `${file}: ${link}`),
    )
    expect(broken).to.deep.equal([])
  })

  it('are all in the sidebar, once', () => {
    const listed = sidebar.flatMap(({ items }) => items.map(({ link }) => `docs${link}.md`))
    expect(listed.sort()).to.deep.equal(pages.filter((file) => file !== 'docs/index.md').sort())
  })

  it('that explain a decision are in the index, by their headings, and say what would change it', () => {
    const decisions = pages.filter((file) => file.startsWith('docs/decisions/') && !file.endsWith('/index.md'))
    const lines = decisions.map((file) => `- [${read(file).split('\n')[0]?.slice(2)}](${file.split('/')[2]})`)
    const listed = read('docs/decisions/index.md')
      .split('\n')
      .filter((line) => line.startsWith('- '))
    expect(listed.sort()).to.deep.equal(lines.sort())
    expect(decisions.filter((file) => !/\n\n\*\*What would change it:\*\* .+\n$/.test(read(file)))).to.deep.equal([])
  })

  it('for users are whole in llms-full.txt', () => {
    const text = llmsFullText()
    const missing = pages.filter((file) => !text.includes(read(file).trim()))
    const left = ['architecture', 'index', 'proofs', 'publishing'].map((name) => `docs/${name}.md`)
    expect(missing.filter((file) => !file.startsWith('docs/decisions/'))).to.deep.equal(left)
  })

  it('are all in llms.txt, those for users with a description', () => {
    const lines = llmsText()
      .split('\n')
      .filter((line) => line.startsWith('- '))
    const forUsers = lines.filter((line) => !line.includes('(/decisions/'))
    expect(forUsers.filter((line) => !/^- \[.+\]\(\/.+\.md\): .+\.$/.test(line))).to.deep.equal([])
    expect(lines).to.have.length(pages.length - 1)
  })
})
