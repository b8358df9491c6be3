/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "collector/elf/file.h"

#if defined(__x86_64__)
static const GElf_Half native_machine = EM_X86_64;
#elif defined(__aarch64__)
static const GElf_Half native_machine = EM_AARCH64;
#else
static const GElf_Half native_machine = EM_NONE;
#endif

enum {
	PHDRS_MAX = 1024,
	NOTES_SIZE_MAX = 65536
};

bool file_key_is_same(const struct file_key *x, const struct file_key *y)
{
	return x->dev == y->dev && x->inode == y->inode &&
	       x->mtime_ns == y->mtime_ns && x->size == y->size;
}

/* Take over fd, just opened, or -1 with errno. */
static int check_reference(int fd, struct file_key *key)
{
	struct stat st;
	int rc;

	if (fd < 0)
		return -errno;
	rc = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (rc) {
		close(fd);
		return rc;
	}
	*key = (struct file_key){
		.dev = st.st_dev,
		.inode = st.st_ino,
		.mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 +
			    (uint64_t)st.st_mtim.tv_nsec,
		.size = (uint64_t)st.st_size,
	};
	return fd;
}

int elf_open_reference(int dir, const char *path, int flags,
		       struct file_key *key)
{
	return check_reference(openat(dir, path, O_PATH | O_CLOEXEC | flags),
			       key);
}

int elf_open_in_root(int root, const char *path, struct file_key *key)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return check_reference(
		(int)syscall(SYS_openat2, root, path, &how, sizeof(how)), key);
}

static int begin(struct elf_file *file)
{
	if (file->elf && elf_kind(file->elf) == ELF_K_ELF)
		return 0;
	elf_file_close(file);
	return -ENOEXEC;
}

int elf_file_open(struct elf_file *file, int reference,
		  const struct file_key *key)
{
	char path[32];

	*file = (struct elf_file){ .fd = -1, .key = *key };
	snprintf(path, sizeof(path), "/proc/self/fd/%d", reference);
	file->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (file->fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
	return begin(file);
}

int elf_file_open_memory(struct elf_file *file, void *image, size_t size)
{
	*file = (struct elf_file){ .fd = -1, .key.size = size };
	elf_version(EV_CURRENT);
	file->elf = elf_memory(image, size);
	return begin(file);
}

void elf_file_close(struct elf_file *file)
{
	if (file->elf)
		elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct elf_file){ .fd = -1 };
}

bool elf_file_is_native(const struct elf_file *file)
{
	const char *ident = elf_getident(file->elf, NULL);
	GElf_Ehdr ehdr;

	return ident && ident[EI_CLASS] == ELFCLASS64 &&
	       ident[EI_DATA] == ELFDATA2LSB &&
	       gelf_getehdr(file->elf, &ehdr) &&
	       ehdr.e_machine == native_machine;
}

int elf_file_read(const struct elf_file *file, void *out, uint64_t size,
		  uint64_t offset)
{
	uint64_t done = 0;

	if (offset > file->key.size || size > file->key.size - offset)
		return -EPROTO;
	if (file->fd < 0) {
		size_t image_size;
		const char *image = elf_rawfile(file->elf, &image_size);

		memcpy(out, image + offset, size);
		return 0;
	}
	while (done < size) {
		ssize_t got = pread(file->fd, (char *)out + done, size - done,
				    (off_t)(offset + done));

		if (got < 0)
			return -errno;
		if (!got)
			return -EPROTO; /* it was cut since */
		done += (uint64_t)got;
	}
	return 0;
}

static size_t count_phdrs(const struct elf_file *file)
{
	size_t n;

	if (elf_getphdrnum(file->elf, &n))
		return 0;
	return n < PHDRS_MAX ? n : PHDRS_MAX;
}

static uint8_t find_in_notes(Elf_Data *notes, uint8_t out[INSPECT_BUILD_ID_MAX])
{
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	for (;;) {
		at = gelf_getnote(notes, at, &note, &name, &desc);
		if (!at)
			return 0;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp((char *)notes->d_buf + name, "GNU", 4))
			continue;
		if (!note.n_descsz || note.n_descsz > INSPECT_BUILD_ID_MAX)
			return 0;
		memcpy(out, (char *)notes->d_buf + desc, note.n_descsz);
		return (uint8_t)note.n_descsz;
	}
}

uint8_t elf_file_build_id(const struct elf_file *file,
			  uint8_t out[INSPECT_BUILD_ID_MAX])
{
	size_t n = count_phdrs(file);
	uint8_t size = 0;

	for (size_t i = 0; i < n && !size; i++) {
		GElf_Phdr phdr;
		Elf_Data *notes;
		uint64_t most;

		if (!gelf_getphdr(file->elf, (int)i, &phdr) ||
		    phdr.p_type != PT_NOTE)
			continue;
		most = phdr.p_filesz < NOTES_SIZE_MAX ? phdr.p_filesz
						      : NOTES_SIZE_MAX;
		notes = elf_getdata_rawchunk(
			file->elf, (int64_t)phdr.p_offset, most,
			phdr.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (notes && notes->d_buf)
			size = find_in_notes(notes, out);
	}
	return size;
}

uint8_t elf_file_build_id_section(const struct elf_file *file,
				  uint8_t out[INSPECT_BUILD_ID_MAX])
{
	Elf_Scn *scn = NULL;
	uint8_t size = 0;

	while (!size && (scn = elf_nextscn(file->elf, scn))) {
		GElf_Shdr shdr;
		Elf_Data *notes;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_NOTE ||
		    shdr.sh_size > NOTES_SIZE_MAX)
			continue;
		notes = elf_getdata_rawchunk(
			file->elf, (int64_t)shdr.sh_offset, shdr.sh_size,
			shdr.sh_addralign == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (notes && notes->d_buf)
			size = find_in_notes(notes, out);
	}
	return size;
}

/* Whether it is an overlay that is mounted where we are, so that who mounted
 * it had the right to. */
static bool is_overlay_of_ours(dev_t dev)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	bool is_found = false;
	unsigned major, minor;
	char *line = NULL;
	size_t room = 0;

	if (!mounts)
		return false;
	while (!is_found && getline(&line, &room, mounts) >= 0)
		is_found = sscanf(line, "%*d %*d %u:%u", &major, &minor) == 2 &&
			   makedev(major, minor) == dev &&
			   strstr(line, " - overlay ");
	free(line);
	fclose(mounts);
	return is_found;
}

/*
 * Whether file is the kernel's inode that the request is about, by what no
 * user can choose. Where stat shows another device than the super block's,
 * it has to be a file of root's: on btrfs users make volumes, in which
 * numbers repeat, but not root's files; an overlay that a user has mounted
 * may show files of FUSE with any owner and number.
 */
static bool is_inode(const struct elf_file *file,
		     const struct wire_request *request)
{
	struct statfs fs;
	struct stat st;

	if (file->key.inode != request->inode)
		return false;
	if (file->key.dev == makedev(request->dev_major, request->dev_minor))
		return true;
	if (fstat(file->fd, &st) || st.st_uid || fstatfs(file->fd, &fs))
		return false;
	return fs.f_type == BTRFS_SUPER_MAGIC ||
	       (fs.f_type == OVERLAYFS_SUPER_MAGIC &&
		is_overlay_of_ours(st.st_dev));
}

/* Whether file is the one that the request is about. */
static bool is_proven(const struct elf_file *file,
		      const struct wire_request *request, bool is_mapping)
{
	uint8_t build_id[INSPECT_BUILD_ID_MAX];

	/* Only for the lists of mappings is a table wanted without inode. */
	if (request->op == WIRE_TABLE &&
	    (request->inode || !request->build_id_size))
		return is_inode(file, request);
	if (request->build_id_size)
		return elf_file_build_id(file, build_id) ==
			       request->build_id_size &&
		       !memcmp(build_id, request->build_id,
			       request->build_id_size);
	if (!request->inode || file->key.inode != request->inode)
		return false;
	/* Overlay and btrfs show another device number in maps than in stat.
	 * What lies behind the very mapping needs no more proof. */
	return is_mapping ||
	       file->key.dev == makedev(request->dev_major, request->dev_minor);
}

static int try_open(struct elf_file *file, const struct wire_request *request,
		    int dir, const char *path, bool is_mapping)
{
	struct file_key key;
	int reference = elf_open_reference(dir, path, 0, &key);
	int rc;

	if (reference < 0)
		return reference;
	rc = elf_file_open(file, reference, &key);
	close(reference);
	if (rc)
		return rc;
	if (is_proven(file, request, is_mapping))
		return 0;
	elf_file_close(file);
	return -ESTALE;
}

/*
 * Open by path, in the target's root (proc; NULL: it is gone) or ours. A link
 * in the target's root may lead out of it; the proof decides, not the path.
 */
static int try_path(struct elf_file *file, const struct wire_request *request,
		    const struct procfs *proc, const char *path)
{
	/* What the kernel appends to the path of a file that is gone was taken
	 * off; but a file may be called so. */
	static const char *const ends[] = { "", " (deleted)" };
	char name[32 + WIRE_PATH_MAX];
	int first_rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		int rc;

		snprintf(name, sizeof(name), "%s%s%s", proc ? "root" : "", path,
			 ends[i]);
		rc = try_open(file, request, proc ? proc->dir : AT_FDCWD, name,
			      false);
		if (!rc)
			return 0;
		if (!i)
			first_rc = rc;
	}
	return first_rc;
}

int elf_file_find(struct elf_file *file, const struct wire_request *request,
		  const char *path)
{
	bool has_path = path[0] == '/';
	struct procfs proc;
	char name[80];
	int rc = -ESRCH;

	*file = (struct elf_file){ .fd = -1 };
	if (!procfs_open(&proc, &request->process)) {
		if (request->map_end) {
			snprintf(name, sizeof(name),
				 "map_files/%" PRIx64 "-%" PRIx64,
				 request->map_start, request->map_end);
			rc = try_open(file, request, proc.dir, name, true);
		}
		if (rc && has_path)
			rc = try_path(file, request, &proc, path);
		procfs_close(&proc);
	}
	if (rc && has_path)
		rc = try_path(file, request, NULL, path);
	return rc;
}

size_t elf_file_segments(const struct elf_file *file,
			 struct elf_segment out[ELF_SEGMENTS_MAX])
{
	size_t n = count_phdrs(file), used = 0;

	if (file->n_told) {
		memcpy(out, file->told, file->n_told * sizeof(*out));
		return file->n_told;
	}
	for (size_t i = 0; i < n && used < ELF_SEGMENTS_MAX; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(file->elf, (int)i, &phdr) ||
		    phdr.p_type != PT_LOAD)
			continue;
		out[used++] = (struct elf_segment){
			.vaddr = phdr.p_vaddr,
			.offset = phdr.p_offset,
			.file_size = phdr.p_filesz,
			.flags = phdr.p_flags,
		};
	}
	return used;
}

bool elf_offset_to_vaddr(const struct elf_segment *segments, size_t n,
			 uint64_t offset, uint64_t *vaddr)
{
	for (size_t i = 0; i < n; i++) {
		if (!(segments[i].flags & PF_X) ||
		    offset < segments[i].offset ||
		    offset - segments[i].offset >= segments[i].file_size)
			continue;
		*vaddr = segments[i].vaddr + (offset - segments[i].offset);
		return true;
	}
	return false;
}

bool elf_vaddr_to_offset(const struct elf_segment *segments, size_t n,
			 uint64_t vaddr, uint64_t *offset)
{
	for (size_t i = 0; i < n; i++) {
		if (!(segments[i].flags & PF_X) || vaddr < segments[i].vaddr ||
		    vaddr - segments[i].vaddr >= segments[i].file_size)
			continue;
		*offset = segments[i].offset + (vaddr - segments[i].vaddr);
		return true;
	}
	return false;
}

int elf_read_vaddr(const struct elf_file *file,
		   const struct elf_segment *segments, size_t n, uint64_t vaddr,
		   void *out, uint64_t size)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t at = vaddr - segments[i].vaddr;

		if (vaddr < segments[i].vaddr || at > segments[i].file_size ||
		    size > segments[i].file_size - at ||
		    segments[i].offset > UINT64_MAX - at)
			continue;
		return elf_file_read(file, out, size, segments[i].offset + at);
	}
	return -EPROTO;
}
