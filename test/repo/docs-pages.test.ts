import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { llmsText } from '../../docs/.vitepress/llms-text.ts'
import { sidebar } from '../../docs/.vitepress/sidebar.ts'

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

function isBroken(file: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? new URL(file, ROOT) : new URL(path, new URL(file, ROOT))
  if (!existsSync(target)) return true
  return anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).includes(anchor)
}

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

  it('are all in llms.txt, those for users with a description', () => {
    const lines = llmsText()
      .split('\n')
      .filter((line) => line.startsWith('- '))
    const forUsers = lines.filter((line) => !line.includes('(/decisions/'))
    expect(forUsers.filter((line) => !/^- \[.+\]\(\/.+\.md\): .+\.$/.test(line))).to.deep.equal([])
    expect(lines).to.have.length(pages.length - 1)
  })
})
