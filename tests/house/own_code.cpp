// A plugin for clang-tidy that keeps its checks off the headers of other projects. What they find
// there is never shown, but looking for it takes three quarters of the time. Newer versions (from
// 21 on) do this themselves; scripts/lint builds it where the headers of clang are installed.
#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>
#include <clang/AST/ASTContext.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>

#include <vector>

namespace {

using clang::ast_matchers::MatchFinder;

// No check: the root of a unit is matched before what is below it is walked.
class OwnCode : public clang::tidy::ClangTidyCheck {
 public:
  using ClangTidyCheck::ClangTidyCheck;

  void registerMatchers(MatchFinder* finder) override {
    finder->addMatcher(clang::ast_matchers::translationUnitDecl().bind("unit"), this);
  }

  void check(const MatchFinder::MatchResult& result) override {
    const auto* unit = result.Nodes.getNodeAs<clang::TranslationUnitDecl>("unit");
    const clang::SourceManager& sources = *result.SourceManager;
    std::vector<clang::Decl*> own;
    // Of a precompiled header nothing is loaded for this: all in it is of other projects.
    for (clang::Decl* declaration : unit->noload_decls()) {
      // What a macro of another project expands to stands where the macro is used.
      const auto place = sources.getExpansionLoc(declaration->getLocation());
      if (!sources.isInSystemHeader(place)) own.push_back(declaration);
    }
    result.Context->setTraversalScope(own);
  }
};

class OwnCodeModule : public clang::tidy::ClangTidyModule {
 public:
  void addCheckFactories(clang::tidy::ClangTidyCheckFactories& factories) override {
    factories.registerCheck<OwnCode>("headroom-own-code");
  }
};

const clang::tidy::ClangTidyModuleRegistry::Add<OwnCodeModule> kModule("headroom", "");

}  // namespace
