/**
 * Assembles the system prompt: the agent's instructions, and the prompt files of the workspace and the home. Each run reads
 * the files again. The log records which files, and how much of each (`prompt.assembled`).
 *
 * Order: instructions; AGENTS.md from the repository's root down to the workspace; identity.md and memory.md of the home,
 * then of `.substrat/` in the workspace; the list of skills. A missing file is skipped silently. A file cut for its size is
 * marked as cut, in the prompt too. A symlink in the workspace may not lead out of its repository, which may be another
 * author's. In the home a symlink may lead anywhere, because the user made it.
 */
import { dirname, join } from 'node:path'
import { listFolders, pathIsThere, readTextFile } from '../../files/prompt-files.js'
import { limits } from '../../limits.js'
import type { PromptSource } from '../../schema/types.js'

export interface PromptPlaces {
  workspace: string
  /** The home's root. */
  home: string
}

export interface AssembledPrompt {
  instructions: string | null
  sources: PromptSource[]
}

export function assemblePrompt(places: PromptPlaces, instructions: string | null): AssembledPrompt {
  const parts: string[] = instructions === null ? [] : [instructions]
  const sources: PromptSource[] = []
  let room: number = limits.promptBytesMax
  const folders = foldersUpToRepository(places.workspace)
  for (const { path, root } of filesOf(places, folders)) {
    const found = readTextFile(path, Math.min(limits.promptFileBytesMax, room), root)
    if (found === undefined) continue
    const { text, bytes, cut } = found
    sources.push({ path, bytes, cut })
    room -= bytes - cut
    const rest = cut === 0 ? '' : `\n[… ${cut} of its ${bytes} bytes are left out]`
    parts.push(`<file path="${path}">\n${text}${rest}\n</file>`)
  }
  const skills = skillsOf(places, folders[0])
  const listed = skills.filter(({ name, description }) => {
    room -= Buffer.byteLength(name) + Buffer.byteLength(description)
    return room >= 0
  })
  if (skills.length > 0) {
    const more = skills.length - listed.length
    const lines = listed.map(({ name, description }) => `- ${name}: ${description}`)
    if (more > 0) lines.push(`[… ${more} more skills are left out]`)
    parts.push(`Skills (read one with read_skill when it helps):\n${lines.join('\n')}`)
    sources.push(...listed.map(({ path, bytes }) => ({ path, bytes, cut: bytes })))
  }
  return { instructions: parts.length === 0 ? null : parts.join('\n\n'), sources }
}

/** The whole text of a skill; undefined if no skill has that name. */
export function findSkill(places: PromptPlaces, name: string, bytesMax: number): string | undefined {
  const root = foldersUpToRepository(places.workspace)[0]
  const skill = skillsOf(places, root).find((each) => each.name === name)
  return skill === undefined ? undefined : readTextFile(skill.path, bytesMax, skill.root)?.text
}

interface PromptFile {
  path: string
  /** A file that resolves to a path outside of this directory is not read. Undefined for files of the home. */
  root: string | undefined
}

/** `folders`: see `foldersUpToRepository`. */
function filesOf({ workspace, home }: PromptPlaces, folders: string[]): PromptFile[] {
  const root = folders[0]
  const inFolder = (folder: string, root: string | undefined): PromptFile[] =>
    ['identity.md', 'memory.md'].map((name) => ({ path: join(folder, name), root }))
  return [
    ...folders.map((folder) => ({ path: join(folder, 'AGENTS.md'), root })),
    ...inFolder(home, undefined),
    ...inFolder(join(workspace, '.substrat'), root),
  ]
}

/** The directories from the repository's root down to the workspace; without a repository, only the workspace. */
function foldersUpToRepository(workspace: string): string[] {
  const folders: string[] = []
  for (let folder = workspace; ; folder = dirname(folder)) {
    folders.unshift(folder)
    if (isRepository(folder)) return folders
    if (dirname(folder) === folder) return [workspace]
  }
}

/** Follows git: an empty `.git` directory, such as sandboxes leave in /tmp, is not a repository; a worktree has a `.git` file. */
function isRepository(folder: string): boolean {
  const path = `${folder}/.git`
  return pathIsThere(path) && (pathIsThere(`${path}/HEAD`) || readTextFile(path, 1) !== undefined)
}

interface Skill {
  name: string
  description: string
  path: string
  root: string | undefined
  bytes: number
}

/** A skill of the workspace overrides one of the same name in the home. `repository`: the root of the workspace's. */
function skillsOf({ workspace, home }: PromptPlaces, repository: string | undefined): Skill[] {
  const skills = new Map<string, Skill>()
  const folders = [
    { folder: join(home, 'skills'), root: undefined },
    { folder: join(workspace, '.substrat', 'skills'), root: repository },
  ]
  for (const { folder, root } of folders) {
    for (const name of listFolders(folder)) {
      const path = join(folder, name, 'SKILL.md')
      const found = readTextFile(path, limits.promptFileBytesMax, root)
      if (found !== undefined)
        skills.set(name, { name, description: describe(found.text), path, root, bytes: found.bytes })
    }
  }
  return [...skills.values()]
}

const DESCRIPTION_CHARACTERS_MAX = 500

/** The value of `description:`; for a YAML block scalar (`>` or `|`), the indented lines below it. */
function describedIn(text: string): string | undefined {
  const found = /^[ \t]*description:[ \t]*([^\r\n]*)((?:\r?\n[ \t]+\S[^\r\n]*)*)/m.exec(text)
  if (found === null) return undefined
  const [, value = '', below = ''] = found
  return /^([>|][-+\d]*)?$/.test(value.trim()) ? below.trim().replace(/\s+/g, ' ') : value
}

/** `description:` of the front matter, or else the first line of text. */
function describe(text: string): string {
  const lines = text.split('\n').map((line) => line.trim())
  const described = describedIn(text)
  const first = lines.find((line) => line !== '' && line !== '---' && !/^\w+:/.test(line))
  return (described ?? first?.replace(/^#+/, '') ?? '').trim().slice(0, DESCRIPTION_CHARACTERS_MAX)
}
